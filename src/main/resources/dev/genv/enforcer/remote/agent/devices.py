"""The device files of GPUs that a process holds. Another process can pass a descriptor, but only the process itself can map a file."""
MOST_FILES = 16384
LARGEST_MAPS = 8 << 20
FIRST_SHARED_MINOR = 254  # from here on, such as /dev/nvidiactl, the files belong to no single GPU
O_PATH = 0o10000000  # of asm-generic/fcntl.h: such a descriptor names a file without opening it
GPU_DRIVERS = (b"nvidia-frontend", b"nvidia")
ALL_DRIVERS = GPU_DRIVERS + (b"nvidiactl", b"nvidia-uvm")
GONE = (FileNotFoundError, ProcessLookupError)


def majors_of(machine, drivers):
    """Returns the major numbers of the device files of these drivers; empty if they are not loaded."""
    lines = read_file(machine.root + "/devices", 1 << 20).partition(b"Block devices:")[0].split(b"\n")
    words = [line.split() for line in lines]
    return {int(each[0]) for each in words if len(each) == 2 and each[1] in drivers and each[0].isdigit()}


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


def is_open(fdinfo):
    flags = [line.split()[1] for line in lines_of(fdinfo, 4096) if line.startswith(b"flags:")]
    return bool(flags) and not int(flags[0], 8) & O_PATH


class DeviceFiles:
    """The device files that processes hold. It examines one process after the other. A child process executes it."""

    def __init__(self, machine, majors, is_search):
        """is_search: whether all devices of many processes are asked for; otherwise one device of one process."""
        self.machine, self.majors, self.is_search = machine, majors, is_search
        self.known, self.unreadable = {}, ""  # the device of each mapped file or None: processes share most of them
        self.files, self.cut, self.skipped = 0, "", ""  # of the present process: what was examined, and what was not

    def use(self, pid):
        """Yields the DeviceUse."""
        is_proven = any(True for _ in self.held(pid))
        yield device_use(is_proven, "" if is_proven else self.cut or self.skipped or self.unreadable)

    def gpus(self, pid):
        """Yields which files of GPUs a process has open or maps, and what was not examined."""
        held = [(minor, is_mapped) for (_, minor), is_mapped in self.held(pid) if minor < FIRST_SHARED_MINOR]
        why = self.skipped and "the open files of a process cannot be examined: %s" % self.skipped
        if self.cut:
            why = "a process has more than %d open files or mappings" % MOST_FILES
        yield {"minors": sorted({minor for minor, _ in held}), "unexamined": why or self.unreadable,
               "mapped": sorted({minor for minor, is_mapped in held if is_mapped})}

    def held(self, pid):
        """Yields the major and the minor number of each device, and whether it is mapped; some several times."""
        self.files, self.cut, self.skipped, opened, maps = 0, "", "", {}, b""
        try:
            for task in self.machine.tasks(pid):
                folder = self.machine.path(task, "")
                try:
                    for name, file, device in self.descriptors(folder + "fd"):
                        yield device, False
                        if file not in opened and is_open(folder + "fdinfo/" + name):
                            opened[file] = device
                except GONE:
                    if task == pid:
                        raise
                    # This thread has exited.
                maps = maps or maps_of(folder)
                if self.is_search and (self.files or maps):
                    break
            for device in self.mapped(pid, maps, opened if self.is_search else self.usual_files(pid)):
                yield device, True
        except OSError as error:
            self.skipped = "" if self.is_search and isinstance(error, GONE) else error.strerror

    def examine(self, path):
        """Returns the file, as maps names it, and its numbers if it is a device file of the drivers, otherwise None."""
        device, inode, _, _, mode, number = kernel_status(path)
        file = (b"%02x:%02x" % (os.major(device), os.minor(device)), b"%d" % inode)
        is_device = stat.S_ISCHR(mode) and os.major(number) in self.majors
        return file, (os.major(number), os.minor(number)) if is_device else None

    def descriptors(self, folder):
        """Yields the name, the file and the device of each descriptor of a device file."""
        for entry in os.scandir(folder):
            self.files += 1
            if self.files > MOST_FILES:
                self.cut = "it has more than %d open files" % MOST_FILES
                return
            try:
                file, device = self.examine(entry.path)
            except FileNotFoundError:
                continue  # it was closed
            except OSError as error:  # such as a file on another user's FUSE mount, which refuses root
                self.skipped = error.strerror
                continue
            if device:
                yield entry.name, file, device

    def mapped(self, pid, maps, devices):
        """Yields the devices that are mapped: of these files and, if the capabilities permit it, of examined ones."""
        if len(maps) == LARGEST_MAPS:
            self.cut = "it has too many mappings"
        examined = 0
        for file, addresses in mapped_files(maps).items():
            device = devices.get(file, self.known.get(file))
            if file not in devices and file not in self.known and not self.unreadable:
                if examined == MOST_FILES:
                    self.cut = "it maps more than %d files" % MOST_FILES
                    continue
                examined += 1
                device = self.examine_mapping(pid, file, addresses)
            if device:
                yield device

    def examine_mapping(self, pid, file, addresses):
        """Returns the device that is mapped there; None if it is another file."""
        name = "-".join(address.lstrip("0") for address in addresses.split("-"))
        try:
            examined, device = self.examine(self.machine.path(pid, "map_files/" + name))
            # The process may have mapped another file there meanwhile, which says nothing about other processes.
            if examined == file:
                self.known[file] = device
            return device
        except FileNotFoundError:
            pass  # it was unmapped
        except OSError as error:
            if error.errno == errno.EPERM:  # the missing capability; a file on another user's FUSE mount has EACCES
                self.unreadable = "the mappings of processes cannot be examined: %s" % error.strerror
            elif not self.is_search:
                self.skipped = error.strerror
        return None

    def usual_files(self, pid):
        """Returns the devices of the machine and of the container of a process, by file.

        The names are not listed, because a user chooses how many files a container has.
        """
        devices, names = {}, ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
        for name in names + ["nvidia%d" % minor for minor in range(FIRST_SHARED_MINOR)]:
            for root in (1, pid):
                found = reading(self.examine, self.machine.path(root, "root/dev/" + name))
                file, device = found.get("value", (None, None))
                if device:
                    devices[file] = device
        return devices


def device_use(is_proven, unexamined=""):
    return {"isProven": is_proven, "unexamined": unexamined}


def device_uses(machine, pids):
    """Returns the DeviceUse of each of these processes."""
    try:
        majors = majors_of(machine, ALL_DRIVERS)
    except OSError as error:
        return dict.fromkeys(pids, device_use(False, error.strerror))
    if not majors:
        return dict.fromkeys(pids, device_use(True))  # as on WSL
    memories = Memories(machine, time.monotonic() + machine.limit(READING_TIME, 0.5), READING_TIME, MOST_CHILDREN)
    uses = memories.read(pids, lambda pid: DeviceFiles(machine, majors, False).use(pid))
    return {pid: uses[pid] or device_use(False, memories.failures[pid]["reason"]) for pid in pids}
