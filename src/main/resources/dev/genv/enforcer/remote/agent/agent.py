"""The part of genv-enforcer that runs on other machines: it gathers facts about one, or carries out actions on it.

It is sent over standard input, and its last line calls main with a request. Users of the machine write most of what it
reads: names, environments and state files hold any bytes, change at any moment, and reading them may never end.
"""
import binascii
import errno
import fcntl
import itertools
import json
import os
import re
import select
import signal
import stat
import sys
import time

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VARIABLE = b"\0GENV_ENVIRONMENT_ID="
LONGEST_ID = 4096
LARGEST_ENVIRON, LARGEST_LIST = 8 << 20, 16 << 20
LARGEST_ARGUMENTS = 64 << 10  # a kernel names its file in the first few hundred bytes
LARGEST_STATE_FILE = 3 << 20  # both state files fit into the answer
LARGEST_ACCOUNTS, LARGEST_OUTPUT = 2 << 20, 1 << 20
MOST_PROCESSES, MOST_NAMES, MOST_HOLDERS = 4096, 10000, 20
MOST_STUCK, MOST_STUCK_OF_A_USER = 64, 8
PAUSE = 0.01  # seconds
ENVS, DEVICES, LOCK, ENFORCER_LOCK = "envs.json", "devices.json", "genv.lock", ".genv-enforcer.lock"
TEMPORARY = ".devices.json.genv-enforcer-"
FAILURES = {errno.ENOENT: "ABSENT", errno.ESRCH: "ABSENT", errno.ENOTDIR: "ABSENT", errno.ELOOP: "ABSENT",
            errno.EACCES: "DENIED", errno.EPERM: "DENIED"}
NOT_ATTEMPTED = {"outcome": "NOT_ATTEMPTED", "reason": "", "limit": 0, "waited": None, "holders": []}
AT_FDCWD, AT_EMPTY_PATH, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, STATX_BTIME = -100, 0x1000, 0x4000, 0x7FF, 0x800
PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434  # of syscall(2) on every architecture


class NoAnswer(Exception):
    """A child process did not answer in time."""


class Bug(Exception):
    """An unexpected exception in a child process, as text."""


class Untrusted(Exception):
    """A user whom the machine does not trust can replace a file."""


def failed(failure, reason=""):
    return {"failure": failure, "reason": reason}


def failure(error):
    return failed(FAILURES.get(error.errno, "OTHER"), error.strerror or "")


def reading(function, *arguments):
    """Returns the value of a function as a Reading; an error of the system is a fact too."""
    try:
        return {"value": function(*arguments)}
    except Untrusted as error:
        return failed("UNTRUSTED", text(str(error)))
    except NoAnswer as error:
        return failed("TIMEOUT", str(error))
    except OSError as error:
        return failure(error)


def base64(content):
    return binascii.b2a_base64(content, newline=False).decode()


def sha256(content):
    import hashlib
    return hashlib.sha256(content).hexdigest()


def text(name):
    """Returns a name of the file system as text that every parser of JSON accepts."""
    return os.fsencode(name).decode("utf-8", "replace")


def signed(number):
    """Returns a number of 64 bits in the range of the recipient's: a user's file system chooses its inode numbers."""
    return number - (1 << 64) if number >> 63 else number


def read(descriptor, limit):
    content = bytearray()
    part = b"-"
    while part and len(content) < limit:
        part = os.read(descriptor, min(limit - len(content), 1 << 20))
        content += part
    return bytes(content)


def read_file(path, limit=LARGEST_LIST):
    with open(path, "rb", 0) as file:
        return read(file.fileno(), limit)


def first_line(*paths):
    """Returns the first line that is not empty; empty if there is none."""
    lines = (reading(read_file, path, 4096).get("value", b"").split(b"\n")[0].strip() for path in paths)
    return next(filter(None, lines), b"").decode("utf-8", "replace")


def write(descriptor, content):
    while content:
        content = content[os.write(descriptor, content):]


def where(error):
    """Returns the type and line of an unexpected exception, but not its text: users may have written that."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return "%s in line %d" % (type(error).__name__, trace.tb_lineno)


class Call:
    """Tasks that a child process executes in order, because a system call may never return.

    A task is a function that yields dictionaries. A task that does not answer in time is left behind with the child.
    """

    def __init__(self, tasks):
        """Raises OSError if there are too many processes."""
        self.received = bytearray()
        self.answers, answers = os.pipe()
        permits, self.permits = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.answers)
            os.close(self.permits)
            self.execute(tasks, answers, permits)
        os.close(answers)
        os.close(permits)

    @staticmethod
    def execute(tasks, answers, permits):
        """Never returns. The caller of this program waits for its output, so the child must not keep that open."""
        try:
            for descriptor in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            for task in tasks:
                for part in itertools.chain(task(), [None]):
                    write(answers, json.dumps(part).encode() + b"\n")
                    if part == {"begun": True} and not os.read(permits, 1):
                        return
        except BaseException as error:
            write(answers, json.dumps({"bug": where(error)}).encode() + b"\n")
        finally:
            os._exit(0)

    def parts(self, seconds):
        """Yields what the next task yields. Raises NoAnswer; then no further task is executed."""
        deadline = time.monotonic() + seconds
        while True:
            part = json.loads(self.line(deadline).decode())
            if part is None:
                return
            if "bug" in part:
                raise Bug(part["bug"])
            yield part

    def line(self, deadline):
        end = self.received.find(b"\n")
        while end < 0:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([self.answers], [], [], left)[0]:
                self.close()
                raise NoAnswer
            searched = len(self.received)
            self.received += os.read(self.answers, 1 << 20) or b'{"bug": "the end of a child process"}\n'
            end = self.received.find(b"\n", searched)
        line = bytes(self.received[:end])
        del self.received[:end + 1]
        return line

    def permit(self):
        """Lets a task continue that has yielded that it is about to begin."""
        os.write(self.permits, b"!")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.answers)
        os.close(self.permits)
        os.waitpid(self.pid, os.WNOHANG)


def call(task, seconds):
    """Returns the merged parts of one task. Raises NoAnswer, OSError."""
    child, merged = Call([task]), {}
    for part in child.parts(seconds):
        merged.update(part)
    child.close()
    return merged


class Machine:
    """The machine as /proc shows it, the request, and the time that is left for it."""

    def __init__(self, request):
        self.request, self.root = request, request["proc"]
        self.finish = time.monotonic() + request["budget"]
        self.boot = first_line(self.root + "/sys/kernel/random/boot_id")

    def ticks(self):
        """Returns the clock ticks since boot: hundredths of a second."""
        return int(read_file(self.root + "/uptime", 64).split()[0].replace(b".", b""))

    def limit(self, most, spare):
        """Returns the seconds that a step may take, so that this part of the budget is left for the rest."""
        return max(min(most, self.finish - time.monotonic() - self.request["budget"] * spare), 0.2)

    def path(self, task, name):
        return "%s/%s/%s" % (self.root, task, name)

    def pids(self):
        return [int(name) for name in os.listdir(self.root) if re.match("[1-9][0-9]{0,8}$", name)]

    def stat(self, task):
        return read_file(self.path(task, "stat"), 1 << 20)

    def stat_text(self, task):
        return base64(self.stat(task))

    def uid(self, task):
        """Returns the real uid."""
        match = re.search(rb"^Uid:\s+([0-9]{1,10})\s", read_file(self.path(task, "status"), 1 << 20), re.M)
        if not match:
            raise OSError(errno.EINVAL, "status has no uid")
        return int(match.group(1))

    def running_task(self, pid, stat_before):
        """Returns the process or, if its first thread has exited, another of its threads."""
        for thread in os.listdir(self.path(pid, "task")) if has_exited(fields(stat_before)) else []:
            task = "%d/task/%s" % (pid, thread)
            if not has_exited(fields(reading(self.stat, task).get("value", b"- - Z"))):
                return task
        return pid

    def environ(self, task):
        """Returns EnvironFacts: the last variable of that name counts."""
        content = b"\0" + read_file(self.path(task, "environ"), LARGEST_ENVIRON)
        start = content.rfind(VARIABLE)
        value = content[start + len(VARIABLE):].split(b"\0", 1)[0] if start >= 0 else b""
        digest = sha256(value) if len(value) > LONGEST_ID else ""
        return {"size": len(content) - 1, "id": base64(value[:LONGEST_ID]), "digest": digest}

    def program(self, task):
        """Returns the name of the program; None if its path is longer than the kernel shows."""
        try:
            return text(os.path.basename(os.readlink(self.path(task, "exe"))))
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise

    def process(self, pid, programs):
        """Yields the parts of ProcessFacts, in an order that leaves what may hang to the end."""
        try:
            before = self.stat(pid)
            yield {"before": {"value": base64(before)}, "uid": reading(self.uid, pid)}
            task = self.running_task(pid, before)
            yield {"environ": reading(self.environ, task)}
            name = self.program(task)
            # The file system of a program that is none of these for certain is not asked.
            may_be = any(program["links"] != 1 or name in (None, program["name"]) for program in programs)
            yield {"executable": {"value": {"name": name, "file": failed("TIMEOUT" if may_be else "SKIPPED")}}}
            if may_be:
                file = reading(file_id, self.path(task, "exe"))
                yield {"executable": {"value": {"name": name, "file": file}}}
        except OSError as error:
            yield {"missing": failure(error)}
        yield {"after": reading(self.stat_text, pid)}

    def holders(self, status):
        """Returns the pids that hold the lock (flock) of a file."""
        pattern = re.compile(rb"\d+: FLOCK +\w+ +\w+ +(-?\d{1,9}) +([0-9a-f]+:[0-9a-f]+):%d " % status.st_ino)
        found = {}
        for match in filter(None, map(pattern.match, read_file(self.root + "/locks").split(b"\n"))):
            found.setdefault(match.group(2), {})[int(match.group(1))] = None
        device = b"%02x:%02x" % (os.major(status.st_dev), os.minor(status.st_dev))
        # Some file systems, such as btrfs, show another device there than in stat(2).
        pids = found.get(device) or (list(found.values())[0] if len(found) == 1 else {})
        return list(pids)[:MOST_HOLDERS]

    def mounts(self):
        """Returns the point, the type and the user (None if the kernel serves it) of each mount."""
        found = []
        for line in reading(read_file, self.root + "/self/mountinfo").get("value", b"").split(b"\n"):
            before, _, after = line.partition(b" - ")
            words = before.split() + [b""] * 5
            kind, options = (after.split() + [b""] * 3)[:3:2]
            user = re.search(rb"(?:^|,)user_id=([0-9]{1,10})(?:,|$)", options) if kind.startswith(b"fuse") else None
            point = re.sub(rb"\\([0-3][0-7]{2})", lambda match: bytes([int(match.group(1), 8)]), words[4])
            found.append((os.fsdecode(point), text(kind), int(user.group(1)) if user else None))
        return found


def fields(content):
    """Returns the fields of /proc/PID/stat from the third one on: the name before them may contain anything."""
    return (content[content.rfind(b")") + 1:].split() + [b""] * 49)[:49]


def has_exited(stat_fields):
    return stat_fields[0] in (b"Z", b"X", b"x")


def statx(directory, path, flags):
    """Returns device, inode and creation time in ns (0 if unknown); None if the system lacks statx(2)."""
    try:
        import ctypes
        buffer = ctypes.create_string_buffer(256)
        library = ctypes.CDLL(None, use_errno=True)
        if library.statx(directory, os.fsencode(path), flags, STATX_BASIC_STATS | STATX_BTIME, buffer):
            code = ctypes.get_errno()
            if code in (errno.ENOSYS, errno.EPERM):
                return None
            raise OSError(code, os.strerror(code))
    except (ImportError, AttributeError):
        return None
    mask, major, minor, nanos = (int.from_bytes(buffer.raw[at:at + 4], sys.byteorder) for at in (0, 136, 140, 88))
    inode, seconds = (int.from_bytes(buffer.raw[at:at + 8], sys.byteorder) for at in (32, 80))
    return os.makedev(major, minor), inode, seconds * 10 ** 9 + nanos if mask & STATX_BTIME else 0


def file_id(path):
    """Returns a FileId from what the kernel knows: the server of a user's file system may not answer."""
    status = statx(AT_FDCWD, path, AT_STATX_DONT_SYNC)
    return identity(os.stat(path)) if status is None else {"device": status[0], "inode": signed(status[1])}


def identity(status):
    return {"device": status.st_dev, "inode": signed(status.st_ino)}


def follow(path, owners):
    """Resolves links like the kernel, and returns the path of the file and its status.

    Raises Untrusted if other users than the owners can replace the file or a step of the path.
    """
    def require_trusted(step, kind):
        status = os.lstat(step)
        if status.st_uid not in owners:
            raise Untrusted("%s belongs to user %d" % (step, status.st_uid))
        # In a sticky directory users cannot replace files of others. In the file's own directory they could add files.
        if kind != "link" and status.st_mode & 0o22 and not (kind == "above" and status.st_mode & stat.S_ISVTX):
            raise Untrusted("others can write " + step)
        return status

    ahead, place, links = path.split("/")[::-1], "", 0
    while ahead:
        name = ahead.pop()
        if name in ("", ".", ".."):
            place = os.path.dirname(place).rstrip("/") if name == ".." else place
            continue
        require_trusted(place or "/", "above" if ahead else "folder")
        step = place + "/" + name
        if not os.path.islink(step):
            place = step
            continue
        require_trusted(step, "link")
        links += 1
        if links > 40:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(step)
        place = "" if target.startswith("/") else place
        ahead += target.split("/")[::-1]
    status = require_trusted(place, "file")
    if not stat.S_ISREG(status.st_mode):
        raise Untrusted("it is not a file")
    return place, status


def program_file(path):
    """Returns a ProgramFile."""
    os.stat(path)  # first of all: nobody can replace what is not there
    place, status = follow(path, {0})
    return {"id": identity(status), "name": text(os.path.basename(place)), "links": status.st_nlink}


def text_file(path, known):
    """Returns a TextFile, without its content if the recipient has this version."""
    with open(path, "rb", 0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_ACCOUNTS:
            raise OSError(errno.EINVAL, "it is not a file of at most %d bytes" % LARGEST_ACCOUNTS)
        version = ":".join(map(str, stamp(status)))
        return {"version": version, "content": None if version == known else base64(file.read(LARGEST_ACCOUNTS))}


def find_program(name):
    """Returns the path of a program that only root and the present user can replace. Raises OSError, Untrusted."""
    paths = [name] if "/" in name else [folder + "/" + name for folder in PATH.split(":")]
    path = next((each for each in paths if os.path.isfile(each) and os.access(each, os.X_OK)), None)
    if path is None:
        what = "%s is not a program" if "/" in name else "%s is not in any of " + PATH
        raise OSError(errno.ENOENT, what % text(name))
    try:
        follow(path, {0, os.geteuid()})
    except Untrusted as error:
        raise Untrusted("%s is not used: %s" % (path, error))
    return path


class Tool:
    """A program that is run in its own process group, with a clean environment, a time limit and bounded output."""

    def __init__(self, path):
        self.path, self.name = path, text(os.path.basename(path))
        self.hangs = False  # whether not even SIGKILL terminated it

    def run(self, arguments, seconds):
        """Returns a ToolOutput."""
        deadline = time.monotonic() + seconds
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            self.execute(arguments, out_end, err_end)
        outputs = {out: bytearray(), err: bytearray()}
        os.close(out_end)
        os.close(err_end)
        exited, unfinished = False, list(outputs)
        while not exited and time.monotonic() < deadline and self.is_bounded(outputs):
            unfinished = self.collect(unfinished, outputs, 0.02 if unfinished else 0.001)
            # A child of the tool may keep its output open for ever, so the end of the output does not count.
            exited, status = os.waitpid(pid, os.WNOHANG)
        if not exited:
            self.kill(pid)
        self.collect(unfinished, outputs, 0)
        if not self.is_bounded(outputs):
            raise OSError(errno.EFBIG, "%s printed more than %d bytes" % (self.name, LARGEST_OUTPUT))
        if not exited:
            raise NoAnswer("%s did not exit within %.2f s" % (self.name, seconds))
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        return {"exitCode": code, "stdout": base64(outputs[out]), "stderr": base64(outputs[err])}

    def execute(self, arguments, out, err):
        """Never returns."""
        try:
            os.setsid()
            for descriptor, source in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
                os.dup2(source, descriptor)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the tool would too
            os.execve(self.path, [self.path] + arguments, {"PATH": PATH, "LC_ALL": "C", "GENV_BYPASS": "1"})
        except OSError as error:
            os.write(2, ("it cannot be run: %s" % error.strerror).encode())
        finally:
            os._exit(127)

    @staticmethod
    def is_bounded(outputs):
        return all(len(output) <= LARGEST_OUTPUT for output in outputs.values())

    @staticmethod
    def collect(streams, outputs, seconds):
        """Reads what comes within this time, and returns the streams that have not ended."""
        parts = {stream: os.read(stream, 1 << 20) for stream in select.select(streams, [], [], seconds)[0]}
        for stream, part in parts.items():
            outputs[stream] += part
        return [stream for stream in streams if parts.get(stream, True)]

    def kill(self, pid):
        for end in (os.killpg, os.kill):
            try:
                end(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has not reached its own process group yet
        deadline, self.hangs = time.monotonic() + 0.5, True
        while self.hangs and time.monotonic() < deadline:
            time.sleep(PAUSE)
            self.hangs = os.waitpid(pid, os.WNOHANG)[0] == 0


def gpu_facts(request, machine):
    """Returns GpuFacts, the listed pids, and whether the tool still runs and cannot be terminated."""
    if request["skip"]:
        skipped = failed("SKIPPED", "nvidia-smi hung in an earlier observation and could not be terminated: "
                                    "it is not run for a while")
        return {"processes": skipped, "devices": skipped}, [], False
    found = reading(find_program, request["program"])
    if "failure" in found:
        return {"processes": found, "devices": found}, [], False
    tool, pids = Tool(found["value"]), []
    processes = tool_reading(tool, request["processes"], request, machine)
    devices = processes if tool.hangs else tool_reading(tool, request["devices"], request, machine)
    if "value" in processes:
        columns = [line.split(b",") for line in binascii.a2b_base64(processes["value"]["stdout"]).split(b"\n")]
        pids = {int(line[1]) for line in columns if re.match(rb" *[1-9][0-9]{0,8} *$", (line + [b""])[1])}
    if len(pids) > MOST_PROCESSES:
        why = "%s lists more processes than can be observed: %d" % (tool.name, len(pids))
        processes, pids = failed("OTHER", why), []
    return {"processes": processes, "devices": devices}, pids, tool.hangs


def tool_reading(tool, query, request, machine):
    return reading(tool.run, [query] + request["arguments"], machine.limit(request["timeout"], 0.44))


class Memories:
    """Reads what the kernel takes from the memory of processes, which can keep it from answering for ever."""

    def __init__(self, machine, stop):
        self.machine, self.stop = machine, stop
        self.waited = 0  # seconds, for processes that did not answer
        self.stuck = {}  # the number of these processes, by uid
        self.failures = {}  # by pid

    def read(self, pids, task):
        """Executes a task for each process, one after the other, and returns what each yields, merged."""
        values, pending = {pid: {} for pid in pids}, list(pids)
        while pending and time.monotonic() < self.stop and len(self.failures) < MOST_STUCK:
            try:
                child = Call([lambda pid=pid: task(pid) for pid in pending])
            except OSError as error:  # such as too many processes
                self.failures.update((pid, failure(error)) for pid in pending)
                return values
            answers = True
            while pending and answers and time.monotonic() < self.stop:
                answers = self.collect(child, values[pending[0]])
                pid = pending.pop(0)
                if not answers:
                    self.leave(pid)
                    pending = [other for other in pending if not self.has_used_up_share(other)]
            if answers:
                child.close()
        self.failures.update((pid, failed("NO_TIME", "no time was left to wait for its answer")) for pid in pending)
        return values

    def collect(self, child, value):
        start = time.monotonic()
        try:
            for part in child.parts(1 if self.waited < 4 else 0.05):
                value.update(part)
            return True
        except NoAnswer:
            self.waited += time.monotonic() - start
            return False

    def owner(self, pid):
        return reading(self.machine.uid, pid).get("value", 0)

    def leave(self, pid):
        self.failures[pid] = failed("TIMEOUT", "it does not answer")
        self.stuck[self.owner(pid)] = self.stuck.get(self.owner(pid), 0) + 1

    def has_used_up_share(self, pid):
        """Whether too many processes of the same user hang. Root may be several users, in containers."""
        if self.owner(pid) == 0 or self.stuck.get(self.owner(pid), 0) < MOST_STUCK_OF_A_USER:
            return False
        self.failures[pid] = failed("NO_TIME", "%d other processes of its user hang" % MOST_STUCK_OF_A_USER)
        return True


def process_facts(machine, pids, programs):
    """Returns ProcessFacts of these processes."""
    memories = Memories(machine, machine.finish - 0.22 * machine.request["budget"])
    skipped = set(machine.request["skip"])
    values = memories.read([pid for pid in pids if pid not in skipped], lambda pid: machine.process(pid, programs))
    facts = []
    for pid in pids:
        fact = values.get(pid, {})
        missing = fact.pop("missing", memories.failures.get(pid, failed("SKIPPED")))
        for key, read_now in (("before", machine.stat_text), ("uid", machine.uid), ("after", machine.stat_text)):
            if key not in fact:
                fact[key] = missing if missing["failure"] == "ABSENT" else reading(read_now, pid)
        facts.append(dict({"environ": missing, "executable": missing}, pid=pid, **fact))
    return facts


def is_within(path, directory):
    return (path + "/").startswith(directory.rstrip("/") + "/")


def mount_of(mounts, path):
    """Returns the mount that contains a path: the innermost one and, of several at one point, the last one."""
    found = None
    for mount in mounts:
        if is_within(path, mount[0]) and (found is None or len(mount[0]) >= len(found[0])):
            found = mount
    return found


def unreadable(reason, why="OTHER"):
    return {"unreadable": {"failure": why, "reason": reason}}


def open_state(machine):
    """Returns a descriptor of the state directory, or None and why there is none, as a Directory."""
    path, mounts = machine.request["state"], machine.mounts()
    # Whether a user serves a file system there (FUSE) is known before it is accessed.
    for directory in (path, os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))):
        for mount in [mount_of(mounts, directory)] + [each for each in mounts if is_within(each[0], directory)]:
            if mount and mount[2] not in (None, 0, os.geteuid()):
                return None, {"userMount": {"uid": mount[2], "type": mount[1], "point": text(mount[0])}}
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK), None
    except FileNotFoundError:
        return None, {"absent": {}}
    except (NotADirectoryError, PermissionError) as error:
        known = {errno.ENOTDIR: "is a symbolic link" if os.path.islink(path) else "is not a directory"}
        return None, unreadable(known.get(error.errno, "cannot be entered"), failure(error)["failure"])


def open_in(directory, name, flags=os.O_RDONLY, mode=0):
    """Opens a file in a directory where every user can write: no link is followed, and nothing is waited for."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode, dir_fd=directory)


def stamp(status):
    """Returns what differs after every change of a file: users cannot set the last one."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_nlink, status.st_size, status.st_mtime_ns,
            status.st_ctime_ns)


def stamp_in(directory, name):
    """Returns the same; None if there is no file of that name."""
    try:
        return stamp(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return None


def refused(cause, number=0, reason=""):
    return {"unreadable": {"cause": cause, "number": number, "reason": reason}}, None


def state_file(directory, name):
    """Returns a StateFile, and its bytes if it is present."""
    descriptor = None
    try:
        descriptor = open_in(directory, name)
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
        return {"present": {"content": base64(content)}}, content
    except FileNotFoundError:
        return {"absent": {}}, None
    except OSError as error:
        known = {errno.ELOOP: "SYMBOLIC_LINK", errno.EACCES: "DENIED", errno.ENXIO: "NOT_REGULAR"}
        return refused(known[error.errno]) if error.errno in known else refused("OTHER", 0, error.strerror)
    finally:
        if descriptor is not None:
            os.close(descriptor)


class GenvLock:
    """genv's lock (flock). Every user can replace its file, or hold the lock for ever."""

    def __init__(self, directory, seconds, create):
        self.directory, self.limit, self.create = directory, seconds, create
        self.start = time.monotonic()
        self.file, self.status = None, None
        self.outcome, self.reason = "NOT_ATTEMPTED", ""

    def take(self):
        """Returns whether it is held. Without a file, and if none is to be created, nobody else holds it."""
        while True:
            if self.file is not None:
                os.close(self.file)
                self.file = None
            is_final = self.attempt()
            if is_final or not self.has_time():
                return self.outcome == "HELD"
            time.sleep(PAUSE)

    def has_time(self):
        return time.monotonic() - self.start < self.limit

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
            what = "is not a regular file" if error.errno == errno.ELOOP else "cannot be locked: " + error.strerror
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
        """Returns LockFacts."""
        waited, holders = time.monotonic() - self.start, {"value": []}
        if self.outcome == "TIMEOUT":
            holders = reading(lambda: [self.holder(machine, pid) for pid in machine.holders(self.status)])
        return {"outcome": self.outcome, "reason": self.reason, "limit": self.limit, "waited": waited,
                "holders": holders.get("value")}

    @staticmethod
    def holder(machine, pid):
        return {"pid": pid, "stat": reading(machine.stat_text, pid).get("value"),
                "uid": reading(machine.uid, pid).get("value")}


def read_state(machine, directory, seconds):
    """Returns LockFacts and both state files as they were at one moment."""
    if machine.request["acts"]:
        lock = GenvLock(directory, seconds, False)
        while lock.take():
            facts = lock.facts(machine)
            files = [state_file(directory, name) for name in (ENVS, DEVICES)]
            if lock.file is not None or stamp_in(directory, LOCK) is None:
                return facts, files
            # Somebody has created the lock, and may have written.
            lock.outcome, lock.reason = "UNUSABLE", "is created and removed repeatedly"
            if not lock.has_time():
                break
        facts = lock.facts(machine)
    else:
        facts = NOT_ATTEMPTED
    return facts, read_unlocked(directory, time.monotonic() + 1)


def read_unlocked(directory, stop):
    """Reads both files without the lock. genv writes in place, so only what does not change for a while counts."""
    def versions():
        return [(stamp_in(directory, name), state_file(directory, name), stamp_in(directory, name))
                for name in (ENVS, DEVICES)]

    earlier = versions()
    while True:
        time.sleep(0.05)
        now = versions()
        stable = [version == former and version[0] == version[2] for version, former in zip(now, earlier)]
        if all(stable) or time.monotonic() > stop:
            return [version[1] if each else refused("CHANGES_WITHOUT_LOCK") for version, each in zip(now, stable)]
        earlier = now


def other_enforcer(machine, directory):
    """Returns the pid of an enforcer that acts on the state directory from the machine itself; None if there is none."""
    try:
        file = open_in(directory, ENFORCER_LOCK)
        status = os.fstat(file)
        is_private = stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600 and status.st_nlink == 1
        # It names its directory: a user may have moved the file of another directory here.
        expected = b"genv-enforcer of directory %d\n" % os.fstat(directory).st_ino
        if not is_private or status.st_uid != os.geteuid() or read(file, 64) != expected:
            return None
        pids = [pid for pid in machine.holders(status) if pid > 0]
        return next((pid for pid in pids if reading(machine.uid, pid).get("value") == os.geteuid()), None)
    except OSError:
        return None


def changed_at(machine, directory):
    """Returns when the directory or a state file in it was last changed, in clock ticks, rather late than early."""
    stamps = [stamp(os.fstat(directory))] + [stamp_in(directory, name) for name in (ENVS, DEVICES)]
    ago = time.time() - max(each[-1] for each in stamps if each) / 1e9
    return machine.ticks() - int(ago * 100) + 1


def lease(machine, key):
    """Takes or keeps the right to act on this machine over SSH. Returns Leased if another service has it."""
    holder, seconds = machine.request["lease"]["holder"], machine.request["lease"]["seconds"]
    try:
        if not os.path.lexists(machine.request["run"]):
            os.mkdir(machine.request["run"], 0o700)
        directory = os.open(machine.request["run"], os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        status = os.fstat(directory)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
            return None
        lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=directory)
    except OSError:
        return None  # without such a directory there is no lease: not every login may create it
    stop = time.monotonic() + 1
    while not is_locked(lock):
        if time.monotonic() > stop:
            return {"secondsAgo": 0, "secondsLeft": 0}
        time.sleep(PAUSE)
    now, other = machine.ticks(), read_lease(machine, directory, key)
    if other and other[0] != holder:
        return {"secondsAgo": (now - other[1]) // 100, "secondsLeft": (other[2] - now) // 100 + 1}
    if seconds > 0:
        # A user who creates and removes state directories must not fill this one.
        for name in os.listdir(directory):
            if ":" in name and not read_lease(machine, directory, name):
                os.unlink(name, dir_fd=directory)
        file = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=directory)
        write(file, ("%s %d %d %s\n" % (holder, now, now + seconds * 100, machine.boot)).encode())
    return None


def is_locked(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def read_lease(machine, directory, name):
    """Returns the holder, the begin and the end of a lease; None if it has expired."""
    try:
        words = read(os.open(name, os.O_RDONLY, dir_fd=directory), 4096).decode("ascii", "replace").split()
        holder, begin, end, boot = words[0], int(words[1]), int(words[2]), words[3]
    except (OSError, ValueError, IndexError):
        return None
    return (holder, begin, end) if boot == machine.boot and end > machine.ticks() else None


def observe_state(machine, seconds):
    """Yields StateFacts, and what else depends on the state directory. A child process executes it."""
    directory, problem = open_state(machine)
    key = "none"
    if directory is None:
        yield {"directory": problem}
    else:
        status = os.fstat(directory)
        key = "%d:%d" % (status.st_dev, status.st_ino)
        yield {"isWritable": os.access(".", os.W_OK, dir_fd=directory)}
        if machine.request["acts"]:
            yield {"enforcer": other_enforcer(machine, directory)}
        lock, (envs, devices) = read_state(machine, directory, seconds)
        now = stamp_in(None, machine.request["state"])
        if now is None or now[:2] != stamp(status)[:2]:
            yield {"directory": unreadable("is replaced while it is read")}
        else:
            born = (statx(directory, "", AT_EMPTY_PATH) or (0, 0, 0))[2]
            yield {"directory": {"present": {"id": identity(status), "born": born}}, "lock": lock, "envs": envs[0],
                   "devices": devices[0], "changedAt": changed_at(machine, directory)}
    if machine.request["acts"]:
        yield {"leased": lease(machine, key)}


def state_facts(machine):
    """Returns StateFacts, and what else depends on the state directory."""
    lock_seconds = machine.limit(machine.request["lockTimeout"], 0.28)
    seconds = machine.limit(lock_seconds + 4, 0.11)
    facts = {"lock": NOT_ATTEMPTED, "envs": {"absent": {}}, "devices": {"absent": {}}, "changedAt": None}
    known = {"isWritable": True, "enforcer": None, "leased": None}
    try:
        known.update(call(lambda: observe_state(machine, lock_seconds), seconds))
    except NoAnswer:
        why, mount = "there was no answer within %d ms" % (seconds * 1000), mount_of(machine.mounts(), machine.request["state"])
        if mount:
            why += "; it is in a file system of the type %s that is mounted on %s" % (mount[1], text(mount[0]))
        known["directory"] = unreadable(why, "TIMEOUT")
    except OSError as error:  # such as too many processes
        known["directory"] = unreadable(error.strerror)
    facts.update((key, known.pop(key)) for key in ("directory", "lock", "envs", "devices", "changedAt") if key in known)
    return facts, known


def liveness_facts(machine, envs):
    """Returns LivenessFacts: which of all numbers in envs.json are processes, and which kernels run."""
    content = binascii.a2b_base64(envs.get("present", {"content": ""})["content"])
    kernels = {"files": [], "unsearched": ""}
    try:
        pids = {b"%d" % pid: pid for pid in machine.pids()}
    except OSError as error:
        return {"processes": failure(error), "kernels": kernels}
    listed = {match.group() for match in re.finditer(rb"[0-9]+", content) if match.group() in pids}
    processes = [live_process(machine, pids[pid]) for pid in sorted(listed)]
    # With escapes, the search may be unnecessary.
    if re.search(rb'"kernel_ids"\s*:\s*\[\s*[^\]\s]', content) or b"\\u" in content:
        if machine.request["skipKernels"]:
            kernels["unsearched"] = "reading the arguments of a process hung in an earlier observation"
        else:
            kernels = find_kernels(machine, sorted(pids.values()))
    return {"processes": {"value": processes}, "kernels": kernels}


def live_process(machine, pid):
    start = fields(reading(machine.stat, pid).get("value", b""))[19]
    return {"pid": pid, "uid": reading(machine.uid, pid).get("value"), "startTime": int(start) if start else None}


def find_kernels(machine, pids):
    """Returns Kernels: the connection files of Jupyter kernels that arguments of these processes end in."""
    def task(pid):
        arguments = reading(read_file, machine.path(pid, "cmdline"), LARGEST_ARGUMENTS).get("value", b"").split(b"\0")
        complete = arguments[:-1] if sum(map(len, arguments)) + len(arguments) > LARGEST_ARGUMENTS else arguments
        names = {re.split(b"[/=]", argument)[-1] for argument in complete}
        files = [name.decode("utf-8", "replace") for name in names if re.match(rb"(?s)kernel-.*\.json\Z", name)]
        yield {"files": files}

    memories, turns = Memories(machine, time.monotonic() + machine.limit(2, 0.05)), {}
    order = []
    for pid in pids:
        uid = memories.owner(pid)
        turns[uid] = turns.get(uid, 0) + 1
        order.append((turns[uid], pid))
    # One process of each user, then the next ones: the many processes of one user do not use up the time.
    values = memories.read([pid for _, pid in sorted(order)], task)
    unsearched = ["process %d of uid %d: %s" % (pid, memories.owner(pid), "reading its arguments hangs" if
                  why["failure"] == "TIMEOUT" else "the search reached its limit") for pid, why in
                  itertools.islice(memories.failures.items(), 1)]
    if len(memories.failures) > 1:
        unsearched.append(" (and %d more)" % (len(memories.failures) - 1))
    return {"files": sorted({file for value in values.values() for file in value.get("files", [])}),
            "unsearched": "".join(unsearched)}


def access_facts(machine, is_writable):
    """Returns AccessFacts."""
    status = reading(read_file, machine.path("self", "status")).get("value", b"")
    capabilities = re.search(rb"^CapEff:\s+([0-9a-f]{1,16})$", status, re.M)
    namespace = reading(os.readlink, machine.path("self", "ns/pid")).get("value", "")
    label = first_line(machine.path("self", "attr/apparmor/current"), machine.path("self", "attr/current"))
    return {"pid": os.getpid(), "capabilities": signed(int(capabilities.group(1), 16)) if capabilities else 0,
            "pidNamespace": namespace, "securityLabel": label, "stateIsWritable": is_writable}


def observe(machine):
    """Returns HostFacts. The processes come before the state: the environment of a new process is not missing then."""
    request, etc = machine.request, machine.request["etc"]
    ids = [etc + "/machine-id", os.path.dirname(etc) + "/var/lib/dbus/machine-id"]
    facts = {"machine": {"machineId": first_line(*ids), "bootId": machine.boot,
                         "driver": first_line(machine.path("driver", "nvidia/version"))},
             "accounts": {name: reading(text_file, etc + "/" + name, request[name]) for name in ("passwd", "subuid")},
             "programs": [reading(program_file, path) for path in request["programs"]]}
    facts["machine"]["beforeListing"] = machine.ticks()
    facts["gpu"], pids, tool_hangs = gpu_facts(request["gpu"], machine)
    known = [program["value"] for program in facts["programs"] if "value" in program]
    facts["processes"] = process_facts(machine, sorted(pids), known)
    facts["machine"]["beforeState"] = machine.ticks()
    facts["state"], directory = state_facts(machine)
    facts["access"] = access_facts(machine, directory["isWritable"])
    facts["liveness"] = liveness_facts(machine, facts["state"]["envs"])
    other = {"leased": directory["leased"]} if directory["leased"] else None
    if directory["enforcer"]:
        other = {"onMachine": {"pid": directory["enforcer"]}}
    facts["enforcers"] = {"other": other, "unusable": ""}
    facts["verified"] = [{"pid": pid, "stat": reading(machine.stat_text, pid)} for pid in request["verified"]]
    return {"facts": facts, "toolHangs": tool_hangs}


class Handle:
    """A handle of a process (pidfd), which never refers to a later process with the same pid."""

    def __init__(self, pid):
        """Raises ProcessLookupError if there is no such process."""
        self.pid, self.descriptor = pid, None
        try:
            self.descriptor = system_call(PIDFD_OPEN, pid, 0)
        except ProcessLookupError:
            raise
        except OSError:
            pass  # this system has no handles

    def send(self, signal_number):
        if self.descriptor is None:
            os.kill(self.pid, signal_number)
        else:
            system_call(PIDFD_SEND_SIGNAL, self.descriptor, signal_number, None, 0)


def system_call(*arguments):
    """syscall(2), for calls that Python has only from version 3.9 on. Raises OSError."""
    try:
        import ctypes
        result = ctypes.CDLL(None, use_errno=True).syscall(*arguments)
    except (ImportError, AttributeError):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def is_late(machine):
    """Whether the rules were checked so long ago that their result may be another one now."""
    request = machine.request
    return (machine.ticks() > request["deadline"] or time.monotonic() > machine.finish or
            machine.boot != request["boot"])


def begin(machine, action):
    """Announces an action directly before it: if the answer is lost, all others were not executed."""
    write(1, b"@%s begun %d\n" % (machine.request["nonce"].encode(), action["number"]))


def terminate(machine, action):
    """Signals a process if it is still the expected one, and returns the result and whether a handle was used."""
    pid = action["pid"]
    if is_late(machine):
        return {"result": "LATE"}, True
    if pid <= 1 or pid == os.getpid():
        return {"result": "PROTECTED"}, True
    try:
        handle = Handle(pid)
    except ProcessLookupError:
        return {"result": "GONE"}, True
    try:
        result = refusal(machine, action)
        if result is None:
            begin(machine, action)
            if is_there(machine, action):  # without a handle, the pid may be that of another process by now
                handle.send(getattr(signal, "SIG" + action["signal"]))
                result = {"result": "SIGNALLED"}
    except ProcessLookupError:
        result = None
    except PermissionError:
        result = {"result": "DENIED"}
    finally:
        if handle.descriptor is not None:
            os.close(handle.descriptor)
    return result or {"result": "GONE"}, handle.descriptor is not None


def is_there(machine, action):
    """Whether this very process exists, and is no zombie."""
    now = fields(reading(machine.stat, action["pid"]).get("value", b""))
    return now[19] == b"%d" % action["startTime"] and not (has_exited(now) and now[17] in (b"0", b"1"))


def refusal(machine, action):
    """Returns why a process is not signalled; None if nothing speaks against it."""
    if not is_there(machine, action):
        return {"result": "GONE"}
    uid = reading(machine.uid, action["pid"]).get("value")
    if uid is None or (uid in action["exempt"] if action["uid"] is None else uid != action["uid"]):
        return {"result": "OTHER_USER", "uid": uid}
    programs = [{"links": 0} for _ in action["files"]]  # whatever its name is
    try:
        facts = call(lambda: machine.process(action["pid"], programs), machine.limit(1, 0.05))
    except NoAnswer:
        return {"result": "TIMEOUT"}
    environ = facts.get("environ", {}).get("value")
    if environ is None or not is_unchanged(facts):
        return {"result": "UNREADABLE"}
    if (environ["id"], environ["digest"]) != (action["id"], action["digest"]):
        return {"result": "CHANGED", "environ": environ}
    program = facts.get("executable", {}).get("value", {"name": None, "file": {}})
    # A file that cannot be examined is none of those that were examined, if the kernel shows its name.
    is_protected = program["file"]["value"] in action["files"] if "value" in program["file"] else program["name"] is None
    return {"result": "PROTECTED"} if action["files"] and is_protected else None


def is_unchanged(facts):
    """Whether all that was read is of one process and one program. The kernel shows an empty environ during execve."""
    before, after = (fields(binascii.a2b_base64(facts[key].get("value", ""))) for key in ("before", "after"))
    return before[19] == after[19] and before[48] == after[48] and (has_exited(before) or before[48] != b"0")


def detach(machine, action):
    """Replaces devices.json, and returns LockFacts and the result."""
    result = {"lock": NOT_ATTEMPTED, "result": "LATE", "reason": "", "file": None}
    if not is_late(machine):
        lock_seconds = machine.limit(machine.request["lockTimeout"], 0.05)
        seconds = machine.limit(lock_seconds + 4, 0.02)
        try:
            child = Call([lambda: replace_devices(machine, action, lock_seconds)])
            for part in child.parts(seconds):
                if part == {"begun": True}:
                    begin(machine, action)
                    child.permit()
                result.update(part)
        except NoAnswer:
            result.update(result="TIMEOUT", reason="there was no answer within %d ms" % (seconds * 1000))
        except OSError as error:  # such as too many processes
            result.update(result="UNREADABLE", reason=error.strerror)
    return result.pop("lock"), {key: result[key] for key in ("result", "reason", "file")}


def replace_devices(machine, action, lock_seconds):
    """Yields the parts of the result. A child process executes it."""
    directory, problem = open_state(machine)
    if directory is None or stamp_in(directory, DEVICES) is None:
        problem = problem or {"absent": {}}
        reason = problem.get("unreadable", {"reason": "is in a file system of a user"})["reason"]
        yield {"result": "ABSENT"} if "absent" in problem else {"result": "UNREADABLE", "reason": reason}
        return
    lock = GenvLock(directory, lock_seconds, True)
    is_held = lock.take()
    yield {"lock": lock.facts(machine), "result": "LOCKED"}
    if not is_held:
        return
    remove_leftovers(directory)
    before = stamp_in(directory, DEVICES)
    file, content = state_file(directory, DEVICES)
    if content is None or sha256(content) != action["digest"]:
        known = {"present": "CHANGED", "absent": "ABSENT", "unreadable": "UNREADABLE"}
        yield {"result": known[next(iter(file))], "file": file}
        return
    name = TEMPORARY + binascii.hexlify(os.urandom(8)).decode()
    try:
        new = open_in(directory, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        os.fchmod(new, 0o666)  # independent of the umask
        write(new, binascii.a2b_base64(action["content"]))
        os.fsync(new)
        yield {"begun": True}
        # As late as possible: what others write without the lock must not be lost.
        if is_late(machine) or not lock.is_in_place() or stamp_in(directory, DEVICES) != before:
            yield {"result": "RESTLESS"}
        else:
            os.rename(name, DEVICES, src_dir_fd=directory, dst_dir_fd=directory)
            os.fsync(directory)
            yield {"result": "DONE"}
    except OSError as error:
        yield {"result": "UNWRITTEN", "reason": error.strerror}
    remove_leftovers(directory)


def remove_leftovers(directory):
    """Removes temporary files of runs that were killed. Another enforcer writes one only under the lock."""
    for entry in itertools.islice(os.scandir("/proc/self/fd/%d" % directory), MOST_NAMES):
        if re.match(re.escape(TEMPORARY) + r"[0-9a-f]{16}\Z", entry.name):
            try:
                os.unlink(entry.name, dir_fd=directory)
            except OSError:
                pass  # a user's directory of such a name is harmless


def act(machine):
    """Carries out the actions of a request, each only if it is still right."""
    def take_lease():
        directory, _ = open_state(machine)
        status = None if directory is None else os.fstat(directory)
        yield {"leased": lease(machine, "%d:%d" % (status.st_dev, status.st_ino) if status else "none")}

    answer = {"leased": None, "handles": "pidfd", "results": [], "lock": NOT_ATTEMPTED, "detached": None}
    try:
        answer.update(call(take_lease, machine.limit(4, 0.5)))
    except NoAnswer:
        answer["leased"] = lease(machine, "none")  # the state directory does not answer
    if answer["leased"]:
        return answer
    for action in machine.request["terminations"]:
        result, has_handle = terminate(machine, action)
        answer["results"].append(dict({"number": action["number"], "uid": None, "environ": None}, **result))
        answer["handles"] = answer["handles"] if has_handle else "comparison"
    if machine.request["detach"]:
        answer["lock"], answer["detached"] = detach(machine, machine.request["detach"])
    return answer


def main(argument):
    """Executes a request, which is JSON in Base64, and prints the answer."""
    request = json.loads(os.fsdecode(binascii.a2b_base64(argument)))
    os.umask(0o077)
    os.chdir("/")
    write(1, b"\n")  # the output of the login before this one may have no end
    try:
        machine = Machine(request)
        answer = observe(machine) if request["do"] == "observe" else act(machine)
    except Bug as error:
        answer = {"failed": "the agent failed: %s" % error}
    except Exception as error:
        answer = {"failed": "the agent failed: %s" % where(error)}
    content = json.dumps(answer).encode()
    write(1, b"@%s %s %s\n" % (request["nonce"].encode(), content, sha256(content).encode()))
    os._exit(0)  # without a wait for anything that hangs
