"""The device files of GPUs that a process holds. Another process can pass a descriptor, but only the process itself can map a file."""
MOST_FILES = 16384
LARGEST_MAPS = 8 << 20
FIRST_SHARED_MINOR = 254  # from here on, such as /dev/nvidiactl, the files belong to no single GPU
O_PATH = 0o10000000  # of asm-generic/fcntl.h: such a descriptor names a file without opening it
GPU_DRIVERS = (b"nvidia-frontend", b"nvidia")
ALL_DRIVERS = GPU_DRIVERS + (b"nvidiactl", b"nvidia-uvm")


class FileNumbers:
    """The numbers that the kernel has for files."""

    @staticmethod
    def read(path):
        """Returns the file, as maps names it, and the major and the minor number of a character device, otherwise None."""
        device, inode, _, _, mode, number = kernel_status(path)
        file = (b"%02x:%02x" % (os.major(device), os.minor(device)), b"%d" % inode)
        return file, (os.major(number), os.minor(number)) if stat.S_ISCHR(mode) else None


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


def in_map_files(addresses):
    """Returns the name of a mapping in map_files."""
    return "map_files/" + "-".join(address.lstrip("0") for address in addresses.split("-"))


class HeldGpus:
    """Examines processes one after the other. A child process executes it."""

    def __init__(self, machine, majors):
        self.machine, self.majors, self.numbers = machine, majors, FileNumbers()
        self.known, self.unreadable = {}, ""  # the minor number of each mapped file or None: processes share most of them

    def gpu(self, device):
        return device[1] if device and device[0] in self.majors and device[1] < FIRST_SHARED_MINOR else None

    def examine(self, pid):
        """Yields which files of GPUs a process has open or maps, and what was not examined."""
        held = {"minors": set(), "mapped": set(), "opened": {}, "files": 0, "mappings": 0, "cut": False, "skipped": ""}
        try:
            for task in self.machine.tasks(pid):
                self.examine_task(pid, self.machine.path(task, "."), held)
                if held["files"]:
                    break
        except (FileNotFoundError, ProcessLookupError):
            pass
        except OSError as error:
            held["skipped"] = error.strerror
        why = held["skipped"] and "the open files of a process cannot be examined: %s" % held["skipped"]
        if held["cut"]:
            why = "a process has more than %d open files or mappings" % MOST_FILES
        yield {"minors": sorted(held["minors"]), "mapped": sorted(held["mapped"]), "unexamined": why or self.unreadable}

    def examine_task(self, pid, task, held):
        for entry in os.scandir(task + "/fd"):
            held["files"] += 1
            if held["files"] >= MOST_FILES:
                held["cut"] = True
                break
            self.add_descriptor(task, entry, held)
        maps = read_file(task + "/maps", LARGEST_MAPS)
        held["cut"] = held["cut"] or len(maps) == LARGEST_MAPS
        files = mapped_files(maps)
        held["files"] += len(files)
        for file, addresses in files.items():
            self.add_mapping(pid, file, addresses, held)

    def add_descriptor(self, task, entry, held):
        try:
            file, device = self.numbers.read(entry.path)
        except FileNotFoundError:
            return  # it was closed
        except OSError as error:  # such as a file on another user's FUSE mount, which refuses root
            held["skipped"] = error.strerror
            return
        minor = self.gpu(device)
        if minor is not None:
            held["minors"].add(minor)
            if file not in held["opened"] and self.is_open("%s/fdinfo/%s" % (task, entry.name)):
                held["opened"][file] = minor

    @staticmethod
    def is_open(fdinfo):
        flags = [line.split()[1] for line in reading(read_file, fdinfo, 4096).get("value", b"").split(b"\n")
                 if line.startswith(b"flags:")]
        return bool(flags) and not int(flags[0], 8) & O_PATH

    def add_mapping(self, pid, file, addresses, held):
        minor = held["opened"].get(file, self.known.get(file))
        if minor is None and file not in self.known and not self.unreadable:
            held["cut"] = held["cut"] or held["mappings"] == MOST_FILES
            if held["mappings"] < MOST_FILES:
                held["mappings"] += 1
                minor = self.examine_mapping(pid, file, addresses)
        if minor is not None:
            held["minors"].add(minor)
            held["mapped"].add(minor)

    def examine_mapping(self, pid, file, addresses):
        """Returns the minor number of the GPU's file that is mapped there; None if it is another file."""
        try:
            examined, device = self.numbers.read(self.machine.path(pid, in_map_files(addresses)))
            # The process may have mapped another file there meanwhile, which says nothing about other processes.
            if examined == file:
                self.known[file] = self.gpu(device)
            return self.gpu(device)
        except OSError as error:
            if error.errno == errno.EPERM:  # the missing capability; a file on another user's FUSE mount has EACCES
                self.unreadable = "the mappings of processes cannot be examined: %s" % error.strerror
        return None  # it may be unmapped


class DeviceUse:
    """Looks for a device file of the driver that one process has open or maps. A child process executes it."""

    def __init__(self, machine, majors, pid):
        self.machine, self.majors, self.pid, self.numbers = machine, majors, pid, FileNumbers()
        self.examined, self.unexamined = 0, ""

    def examine(self):
        """Yields the DeviceUse."""
        try:
            is_proven = self.has_open() or self.maps_one()
        except OSError as error:
            is_proven, self.unexamined = False, error.strerror
        yield device_use(is_proven, "" if is_proven else self.unexamined)

    def has_open(self):
        for number, task in enumerate(self.machine.tasks(self.pid)):
            try:
                for entry in os.scandir(self.machine.path(task, "fd")):
                    self.examined += 1
                    if self.examined > MOST_FILES:
                        self.unexamined = "it has more than %d open files" % MOST_FILES
                        return False
                    if self.is_device(entry.path):
                        return True
            except (FileNotFoundError, ProcessLookupError):
                if number == 0:
                    raise
                # This thread has exited.
        return False

    def is_device(self, path):
        try:
            device = self.numbers.read(path)[1]
            return device is not None and device[0] in self.majors
        except FileNotFoundError:
            pass  # it was closed or unmapped
        except OSError as error:  # such as a file on another user's FUSE mount, which refuses root
            self.unexamined = error.strerror
        return False

    def maps(self):
        for task in self.machine.tasks(self.pid):
            try:
                maps = read_file(self.machine.path(task, "maps"), LARGEST_MAPS)
                if maps:
                    return maps
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has exited
        return b""

    def maps_one(self):
        """Compares device files first: only a few capabilities permit to examine a mapping itself."""
        maps = self.maps()
        if len(maps) == LARGEST_MAPS:
            self.unexamined = "it has too many mappings"
        files = mapped_files(maps)
        if self.has_device_among(files, 1) or self.has_device_among(files, self.pid):
            return True
        if len(files) > MOST_FILES:
            self.unexamined = "it maps more than %d files" % MOST_FILES
        return any(self.is_device(self.machine.path(self.pid, in_map_files(addresses)))
                   for addresses in itertools.islice(files.values(), MOST_FILES))

    def has_device_among(self, files, root):
        """The names are not listed, because a user chooses how many files a container has."""
        names = ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"] + ["nvidia%d" % minor for minor in range(FIRST_SHARED_MINOR)]
        for name in names:
            try:
                file, device = self.numbers.read(self.machine.path(root, "root/dev/" + name))
                if device is not None and device[0] in self.majors and file in files:
                    return True
            except OSError:
                pass  # what is mapped is examined
        return False


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
    memories = Memories(machine, time.monotonic() + machine.limit(READING_TIME, 0.5), READING_TIME, Children.MOST)
    uses = memories.read(pids, lambda pid: DeviceUse(machine, majors, pid).examine())
    return {pid: uses[pid] or device_use(False, memories.failures[pid]["reason"]) for pid in pids}
