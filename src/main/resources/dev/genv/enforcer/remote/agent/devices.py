"""Whether a process has a device file of the driver open or maps one."""
MOST_FILES = 16384
LARGEST_MAPS = 8 << 20
FIRST_SHARED_MINOR = 254  # from here on, such as /dev/nvidiactl, the files belong to no single GPU
DRIVERS = (b"nvidia-frontend", b"nvidia", b"nvidiactl", b"nvidia-uvm")
GONE = (FileNotFoundError, ProcessLookupError)


def majors_of(machine):
    """Returns the major numbers of the device files of the driver; empty if it is not loaded."""
    lines = read_file(machine.root + "/devices", 1 << 20).partition(b"Block devices:")[0].split(b"\n")
    words = [line.split() for line in lines]
    return {int(each[0]) for each in words if len(each) == 2 and each[1] in DRIVERS and each[0].isdigit()}


def mapped_files(maps):
    """Returns the addresses of the first mapping of each file, as maps names it."""
    files = {}
    for line in maps.split(b"\n"):
        words = line.split(None, 5)  # addresses, permissions, offset, device, inode, path
        if len(words) > 4 and words[4] != b"0":  # otherwise it is anonymous
            files.setdefault((words[3], words[4]), words[0].decode())
    return files


def maps_of(folder):
    try:
        return read_file(folder + "maps", LARGEST_MAPS)
    except GONE:
        return b""  # it has exited, or its first thread has


class DeviceFiles:
    """The device files of one process after the other. A child process examines them."""

    def __init__(self, machine, majors):
        self.machine, self.majors = machine, majors

    def use(self, pid):
        """Yields the DeviceUse. Without the driver, as on WSL, it counts as proven."""
        self.files, self.unreadable, self.cut, self.skipped = 0, "", "", ""  # the number, and what was not examined
        is_proven = not self.majors or any(True for _ in self.held(pid))
        yield {"isProven": is_proven, "unexamined": "" if is_proven else self.cut or self.skipped or self.unreadable}

    def held(self, pid):
        """Yields once for each device file that it has open or maps."""
        maps = b""
        try:
            for task in self.machine.tasks(pid):
                folder = self.machine.path(task, "")
                try:
                    yield from self.descriptors(folder + "fd")
                except GONE:
                    if task == pid:
                        raise
                    # This thread has exited.
                maps = maps or maps_of(folder)
            yield from self.mapped(pid, maps)
        except OSError as error:
            self.skipped = error.strerror

    def examine(self, path):
        """Returns the file, as maps names it, and whether it is a device file of the driver."""
        device, inode, _, _, mode, number = kernel_status(path)
        file = (b"%02x:%02x" % (os.major(device), os.minor(device)), b"%d" % inode)
        return file, stat.S_ISCHR(mode) and os.major(number) in self.majors

    def descriptors(self, folder):
        for entry in os.scandir(folder):
            self.files += 1
            if self.files > MOST_FILES:
                self.cut = "it has more than %d open files" % MOST_FILES
                return
            try:
                _, is_device = self.examine(entry.path)
            except FileNotFoundError:
                continue  # it was closed
            except OSError as error:  # such as a file on another user's FUSE mount, which refuses root
                self.skipped = error.strerror
                continue
            if is_device:
                yield True

    def mapped(self, pid, maps):
        """Compares them with the usual device files and, if the capabilities permit it, examines each."""
        if len(maps) == LARGEST_MAPS:
            self.cut = "it has too many mappings"
        examined, devices = 0, self.usual_files(pid)
        for file, addresses in mapped_files(maps).items():
            if file in devices:
                yield True
            elif not self.unreadable:
                if examined == MOST_FILES:
                    self.cut = "it maps more than %d files" % MOST_FILES
                    continue
                examined += 1
                if self.is_mapped(pid, addresses):
                    yield True

    def is_mapped(self, pid, addresses):
        """Whether a device file is mapped there."""
        name = "-".join(address.lstrip("0") for address in addresses.split("-"))
        try:
            return self.examine(self.machine.path(pid, "map_files/" + name))[1]
        except FileNotFoundError:
            pass  # it was unmapped
        except OSError as error:
            if error.errno == errno.EPERM:  # the missing capability; a file on another user's FUSE mount has EACCES
                self.unreadable = "the mappings of processes cannot be examined: %s" % error.strerror
            else:
                self.skipped = error.strerror
        return False

    def usual_files(self, pid):
        """Returns the device files of the machine and of the container of a process.

        The names are not listed, because a user chooses how many files a container has.
        """
        devices, names = set(), ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
        for name in names + ["nvidia%d" % minor for minor in range(FIRST_SHARED_MINOR)]:
            for root in (1, pid):
                file, is_device = reading(self.examine, self.machine.path(root, "root/dev/" + name)).get("value", (None, False))
                if is_device:
                    devices.add(file)
        return devices


def device_uses(reader, pids):
    """Returns the DeviceUse of each of these processes."""
    try:
        majors = majors_of(reader.machine)
    except OSError as error:
        return dict.fromkeys(pids, {"isProven": False, "unexamined": error.strerror})
    uses = reader.read(pids, DeviceFiles(reader.machine, majors).use)
    return {pid: uses[pid] or {"isProven": False, "unexamined": reader.failures[pid]["reason"]} for pid in pids}
