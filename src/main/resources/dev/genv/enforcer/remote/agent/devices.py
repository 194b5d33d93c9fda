"""The device files of GPUs that a process holds."""
MOST_FILES = 16384
FIRST_SHARED_MINOR = 254  # from here on, such as /dev/nvidiactl, the files belong to no single GPU
GPU_DRIVERS = (b"nvidia-frontend", b"nvidia")


class DeviceNumbers:
    """Reads the device numbers that the kernel has for files: the server of a user's file system may not answer."""

    def __init__(self):
        self.statx = None
        try:
            import ctypes
            self.errno, self.buffer = ctypes.get_errno, ctypes.create_string_buffer(256)
            self.statx = ctypes.CDLL(None, use_errno=True).statx
        except (ImportError, AttributeError):
            pass

    def read(self, path):
        """Returns the major and the minor number; None if it is no character device, or was closed."""
        if self.statx is None:
            return self.read_by_stat(path)
        if self.statx(AT_FDCWD, os.fsencode(path), AT_STATX_DONT_SYNC, STATX_BASIC_STATS, self.buffer) < 0:
            number = self.errno()
            if number == errno.ENOSYS:
                self.statx = None
                return self.read_by_stat(path)
            if number == errno.ENOENT:
                return None
            raise OSError(number, os.strerror(number))
        major, minor = (int.from_bytes(self.buffer.raw[at:at + 4], sys.byteorder) for at in (128, 132))
        mode = int.from_bytes(self.buffer.raw[28:30], sys.byteorder)
        return (major, minor) if stat.S_ISCHR(mode) else None

    @staticmethod
    def read_by_stat(path):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        return (os.major(status.st_rdev), os.minor(status.st_rdev)) if stat.S_ISCHR(status.st_mode) else None


def gpu_majors(machine):
    """Returns the major numbers of the device files of single GPUs; empty if the driver is not loaded."""
    lines = read_file(machine.root + "/devices", 1 << 20).partition(b"Block devices:")[0].split(b"\n")
    words = [line.split() for line in lines]
    return {int(each[0]) for each in words if len(each) == 2 and each[1] in GPU_DRIVERS and each[0].isdigit()}


def held_in(folder, majors, numbers, minors):
    """Adds the minor numbers of the files of GPUs that links lead to, and returns how many links there are."""
    count = 0
    for entry in itertools.islice(os.scandir(folder), MOST_FILES):
        count += 1
        number = numbers.read(entry.path)
        if number and number[0] in majors and number[1] < FIRST_SHARED_MINOR:
            minors.add(number[1])
    return count


def held_gpus(machine, pid, majors):
    """Yields which files of GPUs a process has open or maps, and what was not examined."""
    numbers, minors, why = DeviceNumbers(), set(), ""
    try:
        count = held_in(machine.path(pid, "fd"), majors, numbers, minors)
        # The first thread may have exited, and then it shows no descriptors.
        for thread in os.listdir(machine.path(pid, "task")) if count == 0 else []:
            count = count or held_in(machine.path(pid, "task/%s/fd" % thread), majors, numbers, minors)
        try:  # a mapping keeps the file open although it has no descriptor
            count = max(count, held_in(machine.path(pid, "map_files"), majors, numbers, minors))
        except (FileNotFoundError, ProcessLookupError):
            pass
        except OSError as error:
            why = "the mappings of processes cannot be examined: %s" % error.strerror
        if count >= MOST_FILES:
            why = "a process has more than %d open files or mappings" % MOST_FILES
    except (FileNotFoundError, ProcessLookupError):
        pass
    except OSError as error:
        why = "the open files of a process cannot be examined: %s" % error.strerror
    yield {"minors": sorted(minors), "unexamined": why}


def holds_one_of(machine, pid, minors):
    """Whether a process holds one of these files. Raises NoAnswer, OSError."""
    majors = gpu_majors(machine)
    held = call(lambda: held_gpus(machine, pid, majors), machine.limit(1, 0.05))
    return not set(minors).isdisjoint(held["minors"])
