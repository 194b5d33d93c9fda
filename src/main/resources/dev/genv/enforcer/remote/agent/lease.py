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
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
            return None
        file, stop = os.open("leases", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=directory), time.monotonic() + 1
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return take_lease(machine, file, key)
            except BlockingIOError:
                if time.monotonic() > stop:
                    return {"leased": {"secondsAgo": 0, "secondsLeft": 0}}
                time.sleep(PAUSE)
    except OSError:
        return None


def take_lease(machine, file, directory):
    """Writes a lease on a state directory to the locked file, unless another service has one."""
    now, seconds = machine.ticks(), machine.request["lease"]["seconds"]
    ours = {"holder": machine.request["lease"]["holder"], "directory": directory, "path": machine.state,
            "boot": machine.boot, "begin": now, "end": now + int(seconds * 100)}
    try:
        leases = json.loads(read(file, LARGEST_LIST).decode())
    except ValueError:
        leases = []  # it is new, or its writer was killed
    # A user who creates and removes state directories must not fill the file.
    leases = [each for each in leases if each["boot"] == machine.boot and each["end"] > now]
    # A user may exchange the state directory between the requests of two services.
    others = [each for each in leases if each["holder"] != ours["holder"]
              and (each["directory"] == directory or each["path"] == machine.state)]
    if others:
        other = max(others, key=lambda each: each["end"])
        return {"leased": {"secondsAgo": (now - other["begin"]) // 100, "secondsLeft": (other["end"] - now) // 100 + 1}}
    if seconds > 0:
        former = (ours["holder"], directory)
        leases = [each for each in leases if (each["holder"], each["directory"]) != former] + [ours]
        os.ftruncate(file, 0)
        os.pwrite(file, to_json(leases).encode(), 0)
    return None
