"""The right to act on a machine over SSH, which one service has at a time."""


def lease(machine, state):
    """Takes or keeps the right to act on this machine over SSH. Returns Leased if another service has it.

    state: the descriptor of the state directory; None if it cannot be identified.

    Without a directory that only the present user can write there is no lease: not every login may create it.
    """
    key = "none" if state is None else "%d:%d" % stamp(os.fstat(state))[:2]
    try:
        if not os.path.lexists(machine.request["run"]):
            os.mkdir(machine.request["run"], 0o700)
        directory = os.open(machine.request["run"], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        status = os.fstat(directory)
        is_private = status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700
        return take_lease(machine, directory, key) if is_private else None
    except OSError:
        return None


def take_lease(machine, directory, key):
    holder, seconds = machine.request["lease"]["holder"], machine.request["lease"]["seconds"]
    lock, stop = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=directory), time.monotonic() + 1
    while not is_locked(lock):
        if time.monotonic() > stop:
            return {"secondsAgo": 0, "secondsLeft": 0}
        time.sleep(PAUSE)
    now = machine.ticks()
    # A user may exchange the state directory between the requests of two services.
    leases = [(name, read_lease(machine, directory, name)) for name in os.listdir(directory)]
    others = [each for name, each in leases if each and each[0] != holder and (name == key or each[3] == machine.state)]
    if others:
        other = max(others, key=lambda each: each[2])
        return {"secondsAgo": (now - other[1]) // 100, "secondsLeft": (other[2] - now) // 100 + 1}
    if seconds > 0:
        # A user who creates and removes state directories must not fill this one.
        for name, each in leases:
            if ":" in name and not each:
                os.unlink(name, dir_fd=directory)
        file = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=directory)
        path = base64(os.fsencode(machine.state))
        write(file, ("%s %d %d %s %s\n" % (holder, now, now + seconds * 100, machine.boot, path)).encode())
    return None


def is_locked(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def read_lease(machine, directory, name):
    """Returns the holder, the begin and the end of a lease, and the path of the state directory; None if it has expired.

    The path is empty in a lease of an earlier version of the service.
    """
    try:
        words = read(os.open(name, os.O_RDONLY, dir_fd=directory), 4096).decode("ascii", "replace").split()
        holder, begin, end, boot = words[0], int(words[1]), int(words[2]), words[3]
        path = os.fsdecode(binascii.a2b_base64(words[4] if len(words) > 4 else ""))
    except (OSError, ValueError, IndexError):
        return None
    return (holder, begin, end, path) if boot == machine.boot and end > machine.ticks() else None
