"""The machine as /proc shows it."""
VARIABLE = b"\0GENV_ENVIRONMENT_ID="
LONGEST_ID = 4096
NEITHER_END_NOR_EQUALS = bytes(set(range(256)) - {0, ord("=")})
LARGEST_ENVIRON = 8 << 20
LARGEST_CGROUP = 4096
LARGEST_UID_MAP = 16 << 10
LARGEST_PAGE = 64 << 10
FIRST_CGROUP_NAMESPACE = "cgroup:[4026531835]"
UNEXAMINED = failed("TIMEOUT", "its file cannot be examined")
MOST_HOLDERS = 20


class Machine:
    """The machine as /proc shows it, the request, and the time that is left for it."""

    def __init__(self, request):
        self.request, self.root = request, request["proc"]
        self.state = request["state"].rstrip("/")  # with a slash at the end, the kernel follows a link
        self.finish = time.monotonic() + request["budget"]
        self.boot = first_line(self.root + "/sys/kernel/random/boot_id")

    def ticks(self):
        """Returns the clock ticks since boot: hundredths of a second."""
        return int(read_file(self.root + "/uptime", 64).split()[0].replace(b".", b""))

    def limit(self, most, spare, least=0.2):
        """Returns the seconds that a step may take, so that this part of the budget is left for the rest."""
        return max(min(most, self.finish - time.monotonic() - self.request["budget"] * spare), least)

    def search_limit(self):
        """Returns the seconds that a search for further processes may take; none if the rest needs them."""
        return self.limit(self.request["budget"] / 10, 0.22, 0)

    def path(self, task, name):
        return "%s/%s/%s" % (self.root, task, name)

    def pids(self):
        return [int(name) for name in os.listdir(self.root) if name.isdigit() and len(name) < 10]

    def stat(self, task):
        return read_file(self.path(task, "stat"), 1 << 20)

    def status(self, task, key):
        """Returns the value of a line of /proc/PID/status."""
        for line in read_file(self.path(task, "status"), 1 << 20).split(b"\n"):
            if line.startswith(key + b":\t"):
                return line[len(key) + 2:].strip()
        raise OSError(errno.EINVAL, "status has no line %s" % key.decode())

    def uid(self, task):
        """Returns the real uid."""
        uid = (self.status(task, b"Uid").split() or [b""])[0]
        if not uid.isdigit():
            raise OSError(errno.EINVAL, "status has no uid")
        return int(uid)

    def stat_fields(self, task):
        """Returns the fields of its stat; empty ones if it cannot be read."""
        return fields(reading(self.stat, task).get("value", b""))

    def tasks(self, pid):
        """Yields the process and then its threads: the first thread may have exited, and then it shows nothing."""
        yield pid
        for thread in os.listdir(self.path(pid, "task")):
            yield "%d/task/%s" % (pid, thread)

    def running_task(self, pid):
        """Returns the process or, if its first thread has exited, another of its threads."""
        def is_running(task):
            now = self.stat_fields(task)
            return now[0] and not has_exited(now)

        return next(filter(is_running, self.tasks(pid)), pid)

    def environ(self, pid, stat_before):
        """Returns EnvironFacts of a process; if its first thread has exited, those of another one with the stats of that."""
        if not has_exited(fields(stat_before)):
            return self.environ_of(pid, stat_before)
        last = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        for task in self.tasks(pid):
            try:
                before = self.stat(task)
                if not has_exited(fields(before)):
                    facts, after = self.environ_of(task, before), self.stat(task)
                    # A thread that exits has no environ, and shows an empty one.
                    if facts["size"] > 0 or fields(after)[48] not in (b"", b"0"):
                        return dict(facts, thread={"before": before, "after": after})
            except OSError as error:
                last = error  # this thread has exited; the next one may still run
        raise last

    def environ_of(self, task, stat_before):
        """Returns EnvironFacts of a process or thread: the last variable of that name counts."""
        content = b"\0" + read_file(self.path(task, "environ"), LARGEST_ENVIRON)
        value = last_value(content, VARIABLE)
        digest = sha256(value) if len(value) > LONGEST_ID else ""
        # Each string contains an equals sign, but does not begin with it. A user can write millions of strings.
        is_well_formed = content.endswith(b"\0") and b"\0=" not in content and (
            b"\0\0" not in content.translate(None, NEITHER_END_NOR_EQUALS))
        is_one_string = content.find(b"\0", 1) == len(content) - 1
        if is_one_string and self.is_title(task, stat_before):
            is_well_formed = False
        return {"size": len(content) - 1, "id": value[:LONGEST_ID], "digest": digest,
                "wellFormed": is_well_formed, "thread": None}

    def is_title(self, task, stat_before):
        """Whether a title extends from the arguments into the environ.

        Then the kernel shows it as cmdline, up to the size of a page; otherwise it shows exactly the arguments.
        """
        start, end = (int(field or 0) for field in fields(stat_before)[45:47])
        size = end - start
        if size <= 0:
            return False
        shown = len(read_file(self.path(task, "cmdline"), min(size, LARGEST_PAGE) + 1))
        return 0 < shown != min(size, LARGEST_PAGE + 1)

    def cgroup(self, pid):
        return read_file(self.path(self.running_task(pid), "cgroup"), LARGEST_CGROUP)

    def cgroup_root(self):
        """Returns the cgroup that the paths of cgroups begin at."""
        if os.readlink(self.path("self", "ns/cgroup")) != FIRST_CGROUP_NAMESPACE:
            raise OSError(errno.ENOENT, "this login is not in the host's cgroup namespace")
        return "/"

    def namespace_pids(self, pid):
        return self.status(pid, b"NSpid")

    def uid_map(self, pid):
        return read_file(self.path(pid, "uid_map"), LARGEST_UID_MAP)

    def process(self, pid, is_ancestor=False):
        """Yields the parts of ProcessFacts of a listed process or of an ancestor. What may hang comes last."""
        try:
            before = self.stat(pid)
            yield {"before": {"value": before}, "uid": reading(self.uid, pid),
                   "namespacePids": reading(self.namespace_pids, pid)}
            if not is_ancestor:
                yield {"uidMap": reading(self.uid_map, pid), "cgroup": reading(self.cgroup, pid)}
            yield {"environ": reading(self.environ, pid, before)}
            if not is_ancestor:
                parent = int(fields(before)[1] or 0)
                facts = {"pid": parent, "uid": reading(self.uid, parent), "executable": failed("SKIPPED")}
                is_of_root = facts["uid"].get("value") == 0
                yield {"parent": {"value": dict(facts, executable=UNEXAMINED) if is_of_root else facts}}
                yield from self.executable(pid)
                for executable in self.executable(parent) if is_of_root else []:
                    yield {"parent": {"value": dict(facts, **executable)}}
        except OSError as error:
            yield {"missing": failure(error)}
        yield {"after": reading(self.stat, pid)}

    def executable(self, pid):
        """Yields a Reading of the ProgramFile that a process runs."""
        try:
            link = self.path(self.running_task(pid), "exe")
            os.readlink(link)
        except OSError as error:
            if error.errno in FAILURES:
                yield {"executable": failure(error)}
                return
            # It is a program, whatever its path is: the kernel refuses to show one that is too long.
        # Without statx(2) its file system may have to answer.
        yield {"executable": UNEXAMINED}
        try:
            yield {"executable": {"value": root_file(link)}}
        except (OSError, Untrusted):
            yield {"executable": failed("UNTRUSTED", "its file cannot be examined")}

    def holders(self, status):
        """Returns the pids that hold the lock (flock) of a file."""
        found = {}
        for line in read_file(self.root + "/locks").split(b"\n"):
            # Such as 1: FLOCK  ADVISORY  WRITE 812 fe:00:2147295 0 EOF; a process that waits has an arrow in front.
            _, kind, _, _, pid, place = (line.split() + [b""] * 6)[:6]
            device, _, inode = place.rpartition(b":")
            if kind == b"FLOCK" and inode == b"%d" % status.st_ino:
                found.setdefault(device, {})[int(pid)] = None
        device = b"%02x:%02x" % (os.major(status.st_dev), os.minor(status.st_dev))
        # Some file systems, such as btrfs, show another device there than in stat(2).
        pids = found.get(device) or (list(found.values())[0] if len(found) == 1 else {})
        return list(pids)[:MOST_HOLDERS]

    def mounts(self):
        """Returns the point, the type and the user (None if the kernel serves it) of each mount."""
        found = []
        for line in lines_of(self.root + "/self/mountinfo"):
            before, _, after = line.partition(b" - ")
            words = before.split() + [b""] * 5
            kind, _, options = (after.split(b" ") + [b""] * 3)[:3]  # the source between them may be empty
            users = [option[8:] for option in options.split(b",") if option.startswith(b"user_id=")]
            user = int(users[0]) if kind.startswith(b"fuse") and users and users[0].isdigit() else None
            # Blanks and the like are written in octal.
            point = words[4].decode("unicode_escape").encode("latin-1") if b"\\" in words[4] else words[4]
            found.append((os.fsdecode(point), text(kind), user))
        return found


def fields(content):
    """Returns the fields of /proc/PID/stat from the third one on: the name before them may contain anything."""
    return (content[content.rfind(b")") + 1:].split() + [b""] * 49)[:49]


def last_value(content, variable):
    """Returns the value of the last variable of this name; empty if there is none."""
    start = content.rfind(variable)
    return content[start + len(variable):].split(b"\0", 1)[0] if start >= 0 else b""


def has_exited(stat_fields):
    return stat_fields[0] in (b"Z", b"X", b"x")
