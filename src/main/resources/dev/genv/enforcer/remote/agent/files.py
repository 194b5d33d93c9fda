"""The identity of files."""
AT_FDCWD, AT_EMPTY_PATH, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, STATX_BTIME = -100, 0x1000, 0x4000, 0x7FF, 0x800
STATX = struct.Struct("=I16xI4xH2xQ40xqI36x4I")
try:
    import ctypes
    LIBRARY, STATX_BUFFER = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(256)
except ImportError:
    LIBRARY = STATX_BUFFER = None


def signed(number):
    """Returns a number of 64 bits in the range of the recipient's: a user's file system chooses its inode numbers."""
    return number - (1 << 64) if number >> 63 else number


def library_call(function, *arguments):
    """Calls a function of the C library that Python lacks, or has only in later versions. Raises OSError."""
    try:
        result = getattr(LIBRARY, function)(*arguments)
    except AttributeError:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def kernel_status(path, directory=AT_FDCWD, flags=AT_STATX_DONT_SYNC):
    """Returns device, inode, creation time in ns (0 if unknown), owner and mode of a file, and the device that it is.

    It is what the kernel knows: the server of a user's file system may not answer. Only without statx(2) it is asked.
    """
    try:
        library_call("statx", directory, os.fsencode(path), flags, STATX_BASIC_STATS | STATX_BTIME, STATX_BUFFER)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
        status = os.stat(path or directory)
        return status.st_dev, status.st_ino, 0, status.st_uid, status.st_mode, status.st_rdev
    mask, owner, mode, inode, seconds, nanos, *numbers = STATX.unpack_from(STATX_BUFFER)
    # A user's file system chooses the time, too.
    born = signed((seconds * 10 ** 9 + nanos) % (1 << 64)) if mask & STATX_BTIME else 0
    return os.makedev(*numbers[2:]), inode, born, owner, mode, os.makedev(*numbers[:2])


def root_file(path):
    """Returns a ProgramFile from what the kernel knows: the server of a user's file system may not answer.

    Raises Untrusted if another user than root can change it.
    """
    device, inode, born, owner, mode, _ = kernel_status(path)
    if not stat.S_ISREG(mode):
        raise Untrusted("it is not a file")
    if owner != 0 or mode & 0o22:
        raise Untrusted("others can change it")
    return {"id": {"device": device, "inode": signed(inode)}, "born": born}


def stamp(status):
    """Returns what differs after every change of a file: users cannot set the last one."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_nlink, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
