"""The identity of files."""
AT_FDCWD, AT_EMPTY_PATH, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, STATX_BTIME = -100, 0x1000, 0x4000, 0x7FF, 0x800


def library_call(function, *arguments):
    """Calls a function of the C library that Python lacks, or has only in later versions. Raises OSError."""
    try:
        import ctypes
        result = getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments)
    except (ImportError, AttributeError):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def statx(directory, path, flags):
    """Returns device, inode, creation time in ns (0 if unknown), owner and mode; None if the system lacks statx(2)."""
    try:
        import ctypes
        buffer = ctypes.create_string_buffer(256)
        library_call("statx", directory, os.fsencode(path), flags, STATX_BASIC_STATS | STATX_BTIME, buffer)
    except ImportError:
        return None
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EPERM):
            return None
        raise
    mask, owner, major, minor, nanos = (
        int.from_bytes(buffer.raw[at:at + 4], sys.byteorder) for at in (0, 20, 136, 140, 88))
    inode, seconds = (int.from_bytes(buffer.raw[at:at + 8], sys.byteorder) for at in (32, 80))
    mode = int.from_bytes(buffer.raw[28:30], sys.byteorder)
    # A user's file system chooses the time, too.
    born = signed((seconds * 10 ** 9 + nanos) % (1 << 64)) if mask & STATX_BTIME else 0
    return os.makedev(major, minor), inode, born, owner, mode


def root_file(path):
    """Returns a ProgramFile from what the kernel knows: the server of a user's file system may not answer.

    Raises Untrusted if another user than root can change it.
    """
    found = statx(AT_FDCWD, path, AT_STATX_DONT_SYNC)
    if found is None:
        status = os.stat(path)
        found = status.st_dev, status.st_ino, 0, status.st_uid, status.st_mode
    device, inode, born, owner, mode = found
    if not stat.S_ISREG(mode):
        raise Untrusted("it is not a file")
    if owner != 0 or mode & 0o22:
        raise Untrusted("others can change it")
    return {"id": {"device": device, "inode": signed(inode)}, "born": born}


def identity(status):
    return {"device": status.st_dev, "inode": signed(status.st_ino)}


def stamp(status):
    """Returns what differs after every change of a file: users cannot set the last one."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_nlink, status.st_size, status.st_mtime_ns,
            status.st_ctime_ns)
