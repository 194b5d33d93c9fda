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
        self.ranges = sorted((each["first"], each["count"], each["owner"]) for each in request.get("subordinateUids", []))
        self.boot = first_line(self.root + "/sys/kernel/random/boot_id")

    def ticks(self):
        """Returns the clock ticks since boot: hundredths of a second."""
        return int(read_file(self.root + "/uptime", 64).split()[0].replace(b".", b""))

    def limit(self, most, spare, least=0.2):
        """Returns the seconds that a step may take, so that this part of the budget is left for the rest."""
        return max(min(most, self.finish - time.monotonic() - self.request["budget"] * spare), least)

    def owner_of(self, uid):
        """Returns the uid of the account to which a subordinate uid belongs, or else this uid."""
        number = bisect.bisect(self.ranges, (uid, float("inf")))
        first, count, owner = self.ranges[number - 1] if number else (0, 0, 0)
        return owner if uid - first < count else uid

    def path(self, task, name):
        return "%s/%s/%s" % (self.root, task, name)

    def pids(self):
        return [int(name) for name in os.listdir(self.root) if name.isdigit() and len(name) < 10]

    def stat(self, task):
        return read_file(self.path(task, "stat"), 1 << 20)

    def status(self, task, key, content=None):
        """Returns the value of a line of /proc/PID/status, or of this content of it."""
        content = content or read_file(self.path(task, "status"), 1 << 20)
        _, found, rest = (b"\n" + content).partition(b"\n%s:\t" % key)
        if not found:
            raise OSError(errno.EINVAL, "status has no line %s" % key.decode())
        return rest.partition(b"\n")[0].strip()

    def uid(self, task, status=None):
        """Returns the real uid."""
        uid = (self.status(task, b"Uid", status).split() or [b""])[0]
        if not uid.isdigit():
            raise OSError(errno.EINVAL, "status has no uid")
        return int(uid)

    def tasks(self, pid):
        """Yields the process and then its threads: the first thread may have exited, and then it shows nothing."""
        yield pid
        for thread in os.listdir(self.path(pid, "task")):
            yield "%d/task/%s" % (pid, thread)

    def running_task(self, pid):
        """Returns the process or, if its first thread has exited, another of its threads."""
        now = ((task, fields(reading(self.stat, task).get("value", b""))) for task in self.tasks(pid))
        return next((task for task, stat_fields in now if stat_fields[0] and not has_exited(stat_fields)), pid)

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
        return {"size": len(content) - 1, "id": value[:LONGEST_ID], "digest": digest, "wellFormed": is_well_formed, "thread": None}

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

    def cgroup(self, pid, stat):
        """With version 1 of cgroups, a first thread that has exited is in the root of each hierarchy."""
        task = self.running_task(pid) if has_exited(fields(stat)) else pid
        return read_file(self.path(task, "cgroup"), LARGEST_CGROUP)

    def cgroup_root(self):
        """Returns the cgroup that the paths of cgroups begin at."""
        if os.readlink(self.path("self", "ns/cgroup")) != FIRST_CGROUP_NAMESPACE:
            raise OSError(errno.ENOENT, "this login is not in the host's cgroup namespace")
        return "/"

    def kernel_facts(self, pid, is_ancestor):
        """Returns the part of ProcessFacts that the kernel takes from no memory. Only an execve(2) keeps it from answering."""
        before, status = reading(self.stat, pid), reading(read_file, self.path(pid, "status"), 1 << 20).get("value")
        facts = {"before": before, "uid": reading(self.uid, pid, status), "namespacePids": reading(self.status, pid, b"NSpid", status)}
        if not is_ancestor:
            facts["uidMap"] = reading(read_file, self.path(pid, "uid_map"), LARGEST_UID_MAP)
            facts["cgroup"] = reading(self.cgroup, pid, before.get("value", b""))
        return facts

    def identity(self, pid, is_ancestor=True):
        """Yields ProcessFacts without what the kernel takes from memory, of a listed process or of another one."""
        yield dict(self.kernel_facts(pid, is_ancestor), after=reading(self.stat, pid))

    def process(self, pid, is_ancestor=False):
        """Yields ProcessFacts of a listed process or of an ancestor in parts. What may hang comes last."""
        facts = self.kernel_facts(pid, is_ancestor)
        before = facts["before"].get("value")
        if before is None:
            facts.update(environ=facts["before"], executable=facts["before"])
        else:
            yield facts
            yield MAY_HANG
            facts = {"environ": reading(self.environ, pid, before)}
        if before is not None and not is_ancestor:
            parent = int(fields(before)[1] or 0)
            uid = reading(self.uid, parent)
            parent_facts = {"pid": parent, "uid": uid, "executable": UNEXAMINED if uid.get("value") == 0 else failed("SKIPPED")}
            facts.update(executable=UNEXAMINED, parent={"value": parent_facts})
            yield from (facts, MAY_HANG)  # without statx(2), file systems have to answer too
            facts["executable"] = self.executable(pid, before)
            if uid.get("value") == 0:
                yield from (facts, MAY_HANG)
                parent_facts["executable"] = self.executable(parent)
        yield dict(facts, after=reading(self.stat, pid))

    def executable(self, pid, stat=b""):
        """Returns a Reading of the ProgramFile that a process runs. stat: if it was just read."""
        try:
            is_running = stat and not has_exited(fields(stat))
            link = self.path(pid if is_running else self.running_task(pid), "exe")
            os.readlink(link)
        except OSError as error:
            if error.errno in FAILURES:
                return failure(error)
            # It is a program, whatever its path is: the kernel refuses to show one that is too long.
        try:
            return {"value": root_file(link)}
        except (OSError, Untrusted):
            return failed("UNTRUSTED", "its file cannot be examined")

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

    def mounts(self, of_users=False):
        """Returns the point, the type and the user (None if the kernel serves it) of each mount; none if no user is wanted nor named."""
        found, lines = [], lines_of(self.root + "/self/mountinfo")
        for line in lines if not of_users or any(b"user_id=" in line for line in lines) else []:
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
