"""genv's state directory, where every user can create, replace and remove files."""
ENVS, DEVICES, LOCK = "envs.json", "devices.json", "genv.lock"
LARGEST_STATE_FILE = 2 << 20  # two readings of both state files fit into the answer
NOT_ATTEMPTED = {"outcome": "NOT_ATTEMPTED", "reason": "", "limit": 0, "waited": None, "holders": {"value": []}}


def is_within(path, directory):
    return (path + "/").startswith(directory.rstrip("/") + "/")


def mount_of(mounts, path):
    """Returns the mount that contains a path: the innermost one and, of several at one point, the last one."""
    around = [mount for mount in mounts if is_within(path, mount[0])]
    return max(reversed(around), key=lambda mount: len(mount[0]), default=None)


def unreadable(reason, why="OTHER"):
    return {"unreadable": {"failure": why, "reason": reason}}


def open_state(machine, access=os.O_RDONLY):
    """Returns a descriptor of the state directory, or None and why there is none. O_PATH gives no event (inotify)."""
    path, mounts = machine.state, machine.mounts(of_users=True)
    # Whether a user serves a file system there (FUSE) is known before it is accessed.
    for directory in (path, os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))):
        for mount in [mount_of(mounts, directory)] + [each for each in mounts if is_within(each[0], directory)]:
            if mount and mount[2] not in (None, 0, os.geteuid()):
                return None, {"userMount": {"uid": mount[2], "type": mount[1], "point": text(mount[0])}}
    try:
        return os.open(path, access | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK), None
    except FileNotFoundError:
        return None, {"absent": {}}
    except NotADirectoryError:
        return None, unreadable("is a symbolic link" if os.path.islink(path) else "is not a directory")
    except PermissionError:
        return None, unreadable("cannot be entered", "DENIED")


def open_in(directory, name, flags=os.O_RDONLY, mode=0):
    """Opens a file in a directory where every user can write: no link is followed, and nothing is waited for."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode, dir_fd=directory)


def stamp_in(directory, name):
    """Returns the same; None if there is no file of that name."""
    try:
        return stamp(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return None


def refused(cause, number=0, reason=""):
    return {"unreadable": {"cause": cause, "number": number, "reason": reason}}


def state_file(directory, name, descriptor=None):
    """Returns a StateFile. It closes the descriptor."""
    try:
        descriptor = open_in(directory, name) if descriptor is None else descriptor
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return refused("NOT_REGULAR")
        if status.st_nlink > 1 and not status.st_mode & stat.S_IROTH:
            return refused("CLOSED", status.st_nlink)  # it may be a secret, and genv's files are open to all users
        if status.st_size > LARGEST_STATE_FILE:
            return refused("TOO_LARGE", LARGEST_STATE_FILE)
        content = read(descriptor, status.st_size + 1)
        if len(content) != status.st_size or stamp(os.fstat(descriptor)) != stamp(status):
            return refused("CHANGED_WHILE_READ")
        return {"present": {"content": content}}
    except FileNotFoundError:
        return {"absent": {}}
    except OSError as error:
        known = {errno.ELOOP: "SYMBOLIC_LINK", errno.EACCES: "DENIED", errno.ENXIO: "NOT_REGULAR"}
        return refused(known[error.errno]) if error.errno in known else refused("OTHER", 0, error.strerror)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def content_of(file):
    """Returns the bytes of a StateFile; none if it is not present."""
    return file.get("present", {"content": b""})["content"]


class GenvLock:
    """genv's lock (flock). Every user can replace its file, or hold the lock for ever."""

    def __init__(self, directory, seconds, create):
        self.directory, self.limit, self.create = directory, seconds, create
        self.start = time.monotonic()
        self.stop = self.start + seconds
        self.file, self.status = None, None
        self.outcome, self.reason = "NOT_ATTEMPTED", ""

    def take(self):
        """Returns whether it is held. Without a file, and if none is to be created, it is free."""
        while True:
            self.release()
            is_final = self.attempt()
            if is_final or time.monotonic() >= self.stop:
                return self.outcome == "HELD"
            time.sleep(PAUSE)

    def release(self):
        if self.file is not None:
            os.close(self.file)
            self.file = None

    def attempt(self):
        """Sets the outcome and the reason, and returns whether a further attempt is useless."""
        self.outcome, self.reason = "UNUSABLE", "is created and removed repeatedly"
        try:
            self.file = self.open()
            if self.file is not None:
                self.status = os.fstat(self.file)
                self.reason = "is not a regular file"
                if not stat.S_ISREG(self.status.st_mode):
                    return True
                self.outcome, self.reason = "TIMEOUT", ""
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.outcome, self.reason = "UNUSABLE", "is replaced repeatedly"
                if not self.is_in_place():
                    return False
            self.outcome, self.reason = "HELD", ""
            return True
        except FileExistsError:
            return False
        except BlockingIOError:
            if self.file is None:
                self.reason = "is kept from being opened by its owner (fcntl F_SETLEASE)"
            return False
        except OSError as error:
            what = "is a symbolic link" if error.errno == errno.ELOOP else "cannot be locked: " + error.strerror
            self.outcome, self.reason = "UNUSABLE", what
            return True

    def open(self):
        try:
            return open_in(self.directory, LOCK)
        except FileNotFoundError:
            if not self.create:
                return None
        file = open_in(self.directory, LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        os.fchmod(file, 0o666)  # independent of the umask
        return file

    def is_in_place(self):
        """Whether it excludes others: not if its file was removed or replaced."""
        return (stamp_in(self.directory, LOCK) or ())[:2] == stamp(self.status)[:2]

    def facts(self, machine):
        """Returns LockFacts, with pids for add_holders."""
        waited, holders = time.monotonic() - self.start, {"value": []}
        if self.outcome == "TIMEOUT":
            holders = reading(machine.holders, self.status)
        return {"outcome": self.outcome, "reason": self.reason, "limit": self.limit, "waited": waited, "holders": holders}


def add_holders(machine, lock, spare):
    """Replaces the pids in LockFacts by facts. For the rest this part of the budget is left."""
    if lock["holders"].get("value"):
        found = identities(machine, lock["holders"]["value"], spare)
        lock["holders"]["value"] = [{"pid": each["pid"], "stat": each["before"], "uid": each["uid"]} for each in found]
