"""The part of genv-enforcer that runs on another machine: it gathers facts, or carries out actions.

It is sent over standard input; the last line calls main with the request. Users of the machine write most of what it
reads: their names, environments and state files hold any bytes, and reading them may never end.
"""
import binascii
import errno
import fcntl
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
LARGEST_ENVIRON = 8 << 20
LARGEST_ARGUMENTS = 64 << 10  # a kernel names its file in the first few hundred bytes
LARGEST_STATE_FILE = 3 << 20  # two of them fit into an answer
LARGEST_OUTPUT = 1 << 20
LARGEST_ACCOUNTS = 2 << 20
LARGEST_LIST = 16 << 20
MOST_PROCESSES = 4096
MOST_NAMES = 10000
MOST_HOLDERS = 20
MOST_STUCK = 64
MOST_STUCK_PER_USER = 8
PAUSE = 0.01
FAILURES = {errno.ENOENT: "ABSENT", errno.ESRCH: "ABSENT", errno.ENOTDIR: "ABSENT", errno.ELOOP: "ABSENT",
            errno.EACCES: "DENIED", errno.EPERM: "DENIED"}
NOT_ATTEMPTED = {"outcome": "NOT_ATTEMPTED", "reason": "", "limit": 0, "waited": None, "holders": []}
STATE_NAMES = ("envs.json", "devices.json")
AT_FDCWD, AT_EMPTY_PATH, AT_STATX_DONT_SYNC = -100, 0x1000, 0x4000
STATX_BASIC_STATS, STATX_BTIME = 0x7FF, 0x800
PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434  # the same numbers on all architectures


class Bug(Exception):
    """An unexpected error in a child process, with its type and line."""


class NoAnswer(Exception):
    """A child process did not answer within the time limit."""


class Untrusted(Exception):
    """A user whom the machine does not trust can replace a file."""


def failed(failure, reason=""):
    return {"failure": failure, "reason": reason}


def failure(error):
    return failed(FAILURES.get(error.errno, "OTHER"), error.strerror or str(error))


def reading(function, *arguments):
    """Returns the function's value as a record Reading; an error of the system is a fact too."""
    try:
        return {"value": function(*arguments)}
    except Untrusted as error:
        return failed("UNTRUSTED", text(str(error)))
    except OSError as error:
        return failure(error)


def base64(content):
    return binascii.b2a_base64(content, newline=False).decode()


def text(name):
    """A name in the file system as text that every parser of JSON accepts."""
    return os.fsencode(name).decode("utf-8", "replace")


def number(unsigned):
    """An inode number as a signed number of 64 bits: a user's file system may choose any."""
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


def read(descriptor, limit):
    content = bytearray()
    while len(content) < limit:
        part = os.read(descriptor, min(limit - len(content), 1 << 20))
        if not part:
            break
        content += part
    return bytes(content)


def read_file(path, limit=LARGEST_LIST):
    with open(path, "rb", 0) as file:
        return read(file.fileno(), limit)


def first_line(path):
    try:
        return read_file(path, 4096).split(b"\n")[0].decode("utf-8", "replace").strip()
    except OSError:
        return ""


class Clock:
    """The time since the machine's boot, and the time that is left for this request."""

    def __init__(self, proc, budget):
        self.proc, self.budget = proc, budget
        self.finish = time.monotonic() + budget

    def ticks(self):
        """Clock ticks since boot, which are hundredths of a second."""
        return int(read_file(self.proc + "/uptime", 64).split()[0].replace(b".", b""))

    def limit(self, most, spare):
        """Returns the seconds that a step may take: at most so many, and a part of the budget is left for the rest."""
        return max(min(most, self.finish - time.monotonic() - self.budget * spare), 0.2)


class Call:
    """Tasks that a child process executes one after the other, because a system call may never return.

    A task is a function without arguments that yields values. What does not answer is left behind with the child.
    """

    def __init__(self, tasks):
        self.received = bytearray()
        self.answers, answers = os.pipe()
        orders, self.orders = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.answers)
            os.close(self.orders)
            self.execute(tasks, answers, orders)
        os.close(answers)
        os.close(orders)

    @staticmethod
    def execute(tasks, answers, orders):
        """Never returns. The child keeps nothing open that the caller of this program waits for."""
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(nothing, descriptor)
            for task in tasks:
                for part in task():
                    write(answers, json.dumps(part).encode() + b"\n")
                    if "begun" in part and os.read(orders, 1) != b"!":
                        os._exit(0)
                write(answers, b"null\n")
        except BaseException as error:
            write(answers, json.dumps({"bug": where(error)}).encode() + b"\n")
        finally:
            os._exit(0)

    def part(self, deadline):
        """Returns the next value; None at the end of a task. Raises NoAnswer."""
        end = self.received.find(b"\n")
        poll = select.poll()
        poll.register(self.answers, select.POLLIN)
        while end < 0:
            if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
                raise NoAnswer
            seen = len(self.received)
            self.received += os.read(self.answers, 1 << 20) or b'{"bug": "a child process was killed"}\n'
            end = self.received.find(b"\n", seen)
        part = json.loads(self.received[:end].decode())
        del self.received[:end + 1]
        if part and "bug" in part:
            raise Bug(part["bug"])
        return part

    def parts(self, seconds):
        """Yields the values of one task. Raises NoAnswer, and then there is nothing more."""
        deadline = time.monotonic() + seconds
        try:
            part = self.part(deadline)
            while part is not None:
                yield part
                part = self.part(deadline)
        except NoAnswer:
            self.close()
            raise

    def proceed(self):
        os.write(self.orders, b"!")

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.answers)
        os.close(self.orders)
        os.waitpid(self.pid, os.WNOHANG)


def write(descriptor, content):
    while content:
        content = content[os.write(descriptor, content):]


def where(error):
    line = error.__traceback__
    while line.tb_next:
        line = line.tb_next
    return "%s in line %d" % (type(error).__name__, line.tb_lineno)


def call(task, seconds):
    """Returns the only value of a task. Raises NoAnswer."""
    child = Call([task])
    part, = child.parts(seconds)
    child.close()
    return part


class Proc:
    """The processes in /proc."""

    def __init__(self, root):
        self.root = root

    def path(self, pid, name):
        return "%s/%s/%s" % (self.root, pid, name)

    def stat(self, pid):
        return read_file(self.path(pid, "stat"), 1 << 20)

    def uid(self, pid):
        """Returns the real uid."""
        match = re.search(rb"^Uid:\s+([0-9]{1,10})\s", read_file(self.path(pid, "status"), 1 << 20), re.M)
        if not match:
            raise OSError(errno.EINVAL, "status has no uid")
        return int(match.group(1))

    def pids(self):
        return [int(name) for name in os.listdir(self.root) if re.match("[1-9][0-9]{0,8}$", name)]

    def task(self, pid, fields):
        """Returns the process or, if its first thread has exited, another of its threads."""
        if has_exited(fields):
            for thread in os.listdir(self.path(pid, "task")):
                task = "%s/task/%s" % (pid, thread)
                try:
                    if not has_exited(stat_fields(self.stat(task))):
                        return task
                except OSError:
                    pass  # this one has just exited
        return pid

    def environ(self, task):
        """Returns EnvironFacts: the last variable of the name counts."""
        content = b"\0" + read_file(self.path(task, "environ"), LARGEST_ENVIRON)
        start = content.rfind(VARIABLE)
        value = content[start + len(VARIABLE):].split(b"\0", 1)[0] if start >= 0 else b""
        digest = sha256(value) if len(value) > LONGEST_ID else ""
        return {"size": len(content) - 1, "id": base64(value[:LONGEST_ID]), "digest": digest}

    def program_name(self, task):
        """Returns the name of the program that a process runs; None if the kernel does not show it."""
        try:
            return text(os.path.basename(os.readlink(self.path(task, "exe"))))
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return None
            raise

    def program_id(self, task):
        return reading(file_id, self.path(task, "exe"))

    def holders(self, status):
        """Returns the pids that hold the lock (flock) of a file, in the order of /proc/locks."""
        pattern = re.compile(r"\d+: FLOCK +\w+ +\w+ +(-?\d{1,9}) +([0-9a-f]+:[0-9a-f]+):%d " % status.st_ino)
        found = {}
        for line in read_file(self.root + "/locks").decode("ascii", "replace").splitlines():
            match = pattern.match(line)
            if match:
                found.setdefault(match.group(2), []).append(int(match.group(1)))
        device = "%02x:%02x" % (os.major(status.st_dev), os.minor(status.st_dev))
        # Some file systems, such as btrfs, show another device there than in stat(2).
        pids = found.get(device) or (list(found.values())[0] if len(found) == 1 else [])
        return sorted(set(pids), key=pids.index)[:MOST_HOLDERS]


def stat_fields(content):
    """Returns the fields of /proc/PID/stat from the third one on. The name in front may contain any bytes."""
    return (content[content.rfind(b")") + 1:].split() + [b""] * 49)[:49]


def has_exited(fields):
    return fields[0] in (b"Z", b"X", b"x")


def sha256(content):
    import hashlib
    return hashlib.sha256(content).hexdigest()


def statx(directory, path, flags):
    """Returns device, inode and creation time in nanoseconds (0 if unknown); None if the system lacks statx(2)."""
    try:
        import ctypes
        library = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(256)
        mask = STATX_BASIC_STATS | STATX_BTIME
        if library.statx(directory, os.fsencode(path), flags, mask, buffer):
            code = ctypes.get_errno()
            if code in (errno.ENOSYS, errno.EPERM):
                return None
            raise OSError(code, os.strerror(code))
    except (ImportError, AttributeError):
        return None

    def field(offset, size):
        return int.from_bytes(buffer.raw[offset:offset + size], sys.byteorder)

    born = field(80, 8) * 10 ** 9 + field(88, 4) if field(0, 4) & STATX_BTIME else 0
    return os.makedev(field(136, 4), field(140, 4)), field(32, 8), born


def file_id(path):
    """Returns the identity of a file. A user's file server is not asked, because it may not answer."""
    known = statx(AT_FDCWD, path, AT_STATX_DONT_SYNC)
    if not known:
        status = os.stat(path)
        known = status.st_dev, status.st_ino
    return {"device": known[0], "inode": number(known[1])}


def resolve(path, owners):
    """Resolves links like the kernel, and returns the path and status of the file.

    Raises Untrusted if another user than the owners can replace a step of the path or the file.
    """
    def inspect(step, kind):
        status = os.lstat(step)
        if status.st_uid not in owners:
            raise Untrusted("%s belongs to user %d" % (step, status.st_uid))
        # In a sticky directory users cannot replace files of others. In the file's own directory they could add files.
        is_open = status.st_mode & 0o22 and not (kind == "above" and status.st_mode & stat.S_ISVTX)
        if kind != "link" and is_open:
            raise Untrusted("others can write " + step)
        return status

    ahead, place, links = path.split("/")[::-1], "", 0
    while ahead:
        name = ahead.pop()
        if name in ("", ".", ".."):
            place = place.rpartition("/")[0] if name == ".." else place
            continue
        inspect(place or "/", "above" if ahead else "folder")
        step = place + "/" + name
        if not stat.S_ISLNK(os.lstat(step).st_mode):
            place = step
            continue
        links += 1
        if links > 40:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        inspect(step, "link")
        target = os.readlink(step)
        place = "" if target.startswith("/") else place
        ahead += target.split("/")[::-1]
    status = inspect(place, "file")
    if not stat.S_ISREG(status.st_mode):
        raise Untrusted("it is not a file")
    return place, status


def program_file(path):
    """Returns a ProgramFile."""
    os.stat(path)  # before all checks: nobody can replace what is not there
    place, status = resolve(path, {0})
    name = text(os.path.basename(place))
    return {"id": {"device": status.st_dev, "inode": number(status.st_ino)}, "name": name, "links": status.st_nlink}


def text_file(path, known):
    """Returns a TextFile of /etc, without its content if the recipient has this version."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        if status.st_size > LARGEST_ACCOUNTS:
            raise OSError(errno.EFBIG, "it is larger than %d bytes" % LARGEST_ACCOUNTS)
        version = ":".join(map(str, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns,
                                     status.st_ctime_ns)))
        return {"version": version, "content": None if version == known else base64(read(descriptor, LARGEST_ACCOUNTS))}
    finally:
        os.close(descriptor)


def find_program(name):
    """Returns the path of a program that only root or the present user can replace. Raises OSError or Untrusted."""
    paths = [name] if "/" in name else [folder + "/" + name for folder in PATH.split(":")]
    path = next((each for each in paths if os.access(each, os.X_OK)), None)
    if not path and "/" not in name:
        raise OSError(errno.ENOENT, "%s is not in any of %s" % (text(name), PATH))
    if not path or not os.path.isfile(path):
        raise OSError(errno.ENOENT, "%s is not a program" % text(name))
    try:
        resolve(path, {0, os.geteuid()})
    except Untrusted as error:
        raise Untrusted("%s is not used: %s" % (path, error))
    return path


class Tool:
    """Runs a program in its own process group, with a clean environment, a time limit and bounded output."""

    def __init__(self, path):
        self.path = path
        self.name = text(os.path.basename(path))
        self.hangs = False  # whether not even SIGKILL terminated it

    def run(self, arguments, seconds):
        """Returns its output as a record Reading."""
        pipes = os.pipe(), os.pipe()
        try:
            pid = os.fork()
        except OSError as error:  # such as too many processes
            return failure(error)
        if pid == 0:
            self.execute(arguments, pipes)
        streams = {}
        for end, other in pipes:
            os.close(other)
            os.set_blocking(end, False)
            streams[end] = bytearray()
        try:
            return self.output(pid, streams, time.monotonic() + seconds, seconds)
        finally:
            for stream in streams:
                os.close(stream)

    def execute(self, arguments, pipes):
        """Never returns."""
        try:
            os.setsid()
            for descriptor, source in enumerate((os.open(os.devnull, os.O_RDONLY), pipes[0][1], pipes[1][1])):
                os.dup2(source, descriptor)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execve(self.path, [self.path] + arguments, {"PATH": PATH, "LC_ALL": "C", "GENV_BYPASS": "1"})
        except OSError as error:
            os.write(2, ("cannot be run: %s" % error.strerror).encode())
        finally:
            os._exit(127)

    def output(self, pid, streams, deadline, seconds):
        poll, status, unfinished = select.poll(), None, set(streams)
        for stream in streams:
            poll.register(stream, select.POLLIN)
        while status is None and time.monotonic() < deadline:
            # A child of the tool may keep its output open for ever: the end of the tool counts.
            for stream, _ in poll.poll(20 if unfinished else 1):
                if not self.collect(stream, streams[stream]):
                    poll.unregister(stream)
                    unfinished.discard(stream)
            if max(map(len, streams.values())) > LARGEST_OUTPUT:
                break
            ended, status = os.waitpid(pid, os.WNOHANG)
            status = status if ended else None
        if status is None:
            self.kill(pid)
        for stream in unfinished:
            while self.collect(stream, streams[stream]) and len(streams[stream]) <= LARGEST_OUTPUT:
                pass
        if max(map(len, streams.values())) > LARGEST_OUTPUT:
            return failed("OTHER", "%s printed more than %d bytes" % (self.name, LARGEST_OUTPUT))
        if status is None:
            return failed("TIMEOUT", "%s did not exit within %.2f s" % (self.name, seconds))
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        stdout, stderr = (base64(content) for content in streams.values())
        return {"value": {"exitCode": code, "stdout": stdout, "stderr": stderr}}

    @staticmethod
    def collect(stream, content):
        """Returns false if there is no more for now."""
        try:
            part = os.read(stream, 1 << 16)
        except BlockingIOError:
            return False
        content += part
        return bool(part)

    def kill(self, pid):
        for end in (os.killpg, os.kill):
            try:
                end(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it is not yet in its own group
        deadline = time.monotonic() + 0.5
        self.hangs = True
        while self.hangs and time.monotonic() < deadline:
            self.hangs = not os.waitpid(pid, os.WNOHANG)[0]
            time.sleep(PAUSE)


def gpu_facts(request, clock):
    """Returns GpuFacts, the listed pids, and whether the tool is left behind."""
    if request["skip"]:
        skipped = failed("SKIPPED", "nvidia-smi hung in an earlier observation and could not be terminated: "
                                    "it is not run for a while")
        return {"processes": skipped, "devices": skipped}, [], True
    found = reading(find_program, native(request["program"]))
    if "failure" in found:
        return {"processes": found, "devices": found}, [], False
    tool = Tool(found["value"])
    processes = tool.run([request["processes"]] + request["arguments"], clock.limit(request["timeout"], 0.44))
    devices = failed("SKIPPED", "it did not answer the query for the processes")
    if processes.get("failure") != "TIMEOUT":
        devices = tool.run([request["devices"]] + request["arguments"], clock.limit(request["timeout"], 0.44))
    listed = listed_pids(processes["value"]["stdout"]) if "value" in processes else []
    if len(listed) > MOST_PROCESSES:
        why = "%s lists more processes than can be observed: %d" % (tool.name, len(listed))
        processes, listed = failed("OTHER", why), []
    return {"processes": processes, "devices": devices}, listed, tool.hangs


def listed_pids(stdout):
    """Returns the pids in the second column."""
    pids = {}
    for line in binascii.a2b_base64(stdout).split(b"\n"):
        fields = line.split(b",")
        if len(fields) > 1 and re.match(rb"\s*[1-9][0-9]{0,8}\s*$", fields[1]):
            pids[int(fields[1])] = None
    return list(pids)


def native(path):
    """A path in the form of Python's own functions, whatever the locale is."""
    return os.fsdecode(path.encode("utf-8", "surrogatepass"))


class Memories:
    """Reads what the kernel takes from the memory of processes. A process can keep that from returning, for ever."""

    def __init__(self, proc, stop):
        self.proc, self.stop = proc, stop
        self.waited = 0
        self.stuck = {}  # the number of processes that do not answer, by uid
        self.failures = {}

    def read(self, owners, task):
        """Executes a task for each process, and returns its merged values by pid. owners has the uids by pid."""
        values = {pid: {} for pid in owners}
        pending = list(owners)
        while pending and self.may_wait():
            try:
                child = Call([lambda pid=pid: task(pid) for pid in pending])
            except OSError as error:  # such as too many processes
                self.failures.update((pid, failure(error)) for pid in pending)
                return values
            hangs = False
            while pending and not hangs and time.monotonic() < self.stop:
                pid = pending.pop(0)
                hangs = not self.collect(child, values[pid])
                if hangs:
                    self.leave(pid, owners[pid])
                    pending = [each for each in pending if not self.has_used_up_share(each, owners[each])]
            if not hangs:
                child.close()
        for pid in pending:
            self.failures[pid] = failed("NO_TIME", "no time was left to wait for its answer")
        return values

    def may_wait(self):
        return time.monotonic() < self.stop and sum(self.stuck.values()) < MOST_STUCK

    def collect(self, child, values):
        start = time.monotonic()
        try:
            for part in child.parts(min(1 if self.waited < 4 else 0.05, max(self.stop - start, 0.05))):
                values.update(part)
            return True
        except NoAnswer:
            self.waited += time.monotonic() - start
            return False

    def leave(self, pid, uid):
        self.stuck[uid] = self.stuck.get(uid, 0) + 1
        self.failures[pid] = failed("TIMEOUT")

    def has_used_up_share(self, pid, uid):
        """Whether other processes of this user hang; root may be several users in containers."""
        used_up = uid not in (None, 0) and self.stuck.get(uid, 0) >= MOST_STUCK_PER_USER
        if used_up:
            self.failures[pid] = failed("NO_TIME", "%d other processes of its user do not answer" % MOST_STUCK_PER_USER)
        return used_up


def process_facts(proc, pids, skip, programs, stop):
    """Returns ProcessFacts of the listed processes."""
    def task(pid):
        try:
            before = proc.stat(pid)
            place = proc.task(pid, stat_fields(before))
            yield {"before": {"value": base64(before)}}
            yield {"environ": reading(proc.environ, place)}
            name = proc.program_name(place)
            # The file system of a program that is none of these for certain is not asked.
            may_be = any(program["links"] != 1 or name in (None, program["name"]) for program in programs)
            yield {"executable": {"value": {"name": name, "file": failed("TIMEOUT" if may_be else "SKIPPED")}}}
            if may_be:
                yield {"executable": {"value": {"name": name, "file": proc.program_id(place)}}}
        except OSError as error:
            yield {"missing": failure(error)}
        yield {"after": stat_reading(proc, pid)}

    facts, owners = {}, {}
    for pid in pids:
        uid = reading(proc.uid, pid)
        facts[pid] = {"pid": pid, "before": stat_reading(proc, pid), "uid": uid}
        if pid not in skip and "value" in facts[pid]["before"]:
            owners[pid] = uid.get("value")
    memories = Memories(proc, stop)
    values = memories.read(owners, task)
    for pid, fact in facts.items():
        fact.update(values.get(pid, {}))
        left = fact["before"] if "failure" in fact["before"] else failed("SKIPPED")
        missing = fact.pop("missing", memories.failures.get(pid, left))
        fact.setdefault("environ", missing)
        fact.setdefault("executable", missing)
        if "after" not in fact:
            fact["after"] = stat_reading(proc, pid)
    return list(facts.values())


def stat_reading(proc, pid):
    return reading(lambda: base64(proc.stat(pid)))


def mounts(proc):
    """Returns the point, type and user id (None if the kernel serves it) of each mount, in their order."""
    found = []
    try:
        lines = read_file(proc.root + "/self/mountinfo").split(b"\n")
    except OSError:
        return []
    for line in lines:
        fields = line.split(b" ")
        if b"-" in fields[6:] and len(fields) >= fields.index(b"-", 6) + 4:
            kind, _, options = fields[fields.index(b"-", 6) + 1:][:3]
            point = re.sub(rb"\\([0-3][0-7]{2})", lambda match: bytes([int(match.group(1), 8)]), fields[4])
            user = re.search(rb"(?:^|,)user_id=([0-9]{1,10})(?:,|$)", options) if kind.startswith(b"fuse") else None
            found.append((os.fsdecode(point), os.fsdecode(kind), int(user.group(1)) if user else None))
    return found


def is_within(path, directory):
    return (path + "/").startswith(directory.rstrip("/") + "/")


def mount_of(proc, path):
    """Returns the mount that contains a path: the innermost one and, of several at one point, the last one."""
    around = [mount for mount in mounts(proc) if is_within(path, mount[0])]
    return max(enumerate(around), key=lambda each: (len(each[1][0]), each[0]), default=(0, None))[1]


def user_mount(proc, path):
    """Returns the mount of a user (FUSE) over a directory or in it, as a Directory; None if there is none."""
    around = mount_of(proc, path)
    for point, kind, user in ([around] if around else []) + [m for m in mounts(proc) if is_within(m[0], path)]:
        if user not in (None, 0, os.geteuid()):
            return {"userMount": {"uid": user, "type": text(kind), "point": text(point)}}
    return None


def unreadable(failure, reason):
    return {"unreadable": {"failure": failure, "reason": reason}}


def open_in(directory, name, flags=os.O_RDONLY, mode=0):
    """Opens a file in a directory where every user can write: no link is followed, and nothing is waited for."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, mode, dir_fd=directory)


def status_in(directory, name):
    """Returns what changes with every change of a file; None if there is no such file."""
    try:
        return stamp(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return None


def stamp(status):
    return (status.st_dev, status.st_ino, status.st_mode, status.st_nlink, status.st_size, status.st_mtime_ns,
            status.st_ctime_ns)


def state_file(directory, name):
    """Returns a StateFile and, if it is present, its bytes."""
    def refused(cause, count=0, reason=""):
        return {"unreadable": {"cause": cause, "number": count, "reason": reason}}, None

    try:
        descriptor = open_in(directory, name)
    except FileNotFoundError:
        return {"absent": {}}, None
    except OSError as error:
        known = {errno.ELOOP: "SYMBOLIC_LINK", errno.EACCES: "DENIED", errno.ENXIO: "NOT_REGULAR"}
        cause = known.get(error.errno, "OTHER")
        return refused(cause, 0, error.strerror if cause == "OTHER" else "")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return refused("NOT_REGULAR")
        # genv's files are open to all users. A closed file may be a secret, which no report may show.
        if status.st_nlink > 1 and not status.st_mode & stat.S_IROTH:
            return refused("CLOSED", status.st_nlink)
        if status.st_size > LARGEST_STATE_FILE:
            return refused("TOO_LARGE", LARGEST_STATE_FILE)
        content = read(descriptor, status.st_size + 1)
        if len(content) != status.st_size or stamp(os.fstat(descriptor)) != stamp(status):
            return refused("CHANGED_WHILE_READ")
        return {"present": {"content": base64(content)}}, content
    except OSError as error:
        return refused("OTHER", 0, error.strerror)
    finally:
        os.close(descriptor)


class GenvLock:
    """genv's lock (flock). Every user can replace its file, or hold the lock for ever."""

    NAME = "genv.lock"

    def __init__(self, directory, seconds, create):
        self.directory, self.create = directory, create
        self.limit, self.start = seconds, time.monotonic()
        self.descriptor = None
        self.outcome, self.reason = "NOT_ATTEMPTED", ""
        self.status = None  # of the file that another program holds

    def take(self):
        """Waits for the lock, and returns whether it is held. Without a file nobody holds it, unless one is created."""
        while True:
            self.release()
            self.outcome, self.reason, is_final = self.attempt()
            if is_final or not self.has_time():
                return self.outcome == "HELD"
            time.sleep(PAUSE)

    def has_time(self):
        return time.monotonic() - self.start < self.limit

    def attempt(self):
        """Returns the outcome, a reason, and whether that is final."""
        try:
            self.descriptor = self.open()
            if self.descriptor is None:
                return "HELD", "", True
            self.status = os.fstat(self.descriptor)
            if not stat.S_ISREG(self.status.st_mode):
                return "UNUSABLE", "is not a regular file", True
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return ("HELD", "", True) if self.is_in_place() else ("UNUSABLE", "is replaced repeatedly", False)
        except FileExistsError:
            return "UNUSABLE", "is created and removed repeatedly", False
        except BlockingIOError:
            if self.descriptor is None:
                return "UNUSABLE", "is kept from being opened by its owner (fcntl F_SETLEASE)", False
            return "TIMEOUT", "", False
        except OSError as error:
            if error.errno == errno.ELOOP:
                return "UNUSABLE", "is not a regular file", True
            return "UNUSABLE", "cannot be opened: " + error.strerror, True

    def open(self):
        """Returns a descriptor; None if there is no file and none is to be created."""
        try:
            return open_in(self.directory, self.NAME)
        except FileNotFoundError:
            if not self.create:
                return None
        descriptor = open_in(self.directory, self.NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        os.fchmod(descriptor, 0o666)  # independent of the umask
        return descriptor

    def is_in_place(self):
        """Whether the lock still excludes others: not if its file was removed or replaced."""
        there = status_in(self.directory, self.NAME)
        return there is not None and there[:2] == stamp(self.status)[:2]

    def release(self):
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def facts(self, proc):
        """Returns LockFacts."""
        waited = time.monotonic() - self.start
        holders = []
        if self.outcome == "TIMEOUT":
            try:
                holders = [holder(proc, pid) for pid in proc.holders(self.status)]
            except OSError:
                holders = None
        return {"outcome": self.outcome, "reason": self.reason, "limit": self.limit, "waited": waited,
                "holders": holders}


def holder(proc, pid):
    content, uid = reading(lambda: base64(proc.stat(pid))), reading(proc.uid, pid)
    return {"pid": pid, "stat": content.get("value"), "uid": uid.get("value")}


def read_files(directory):
    return [state_file(directory, name) for name in STATE_NAMES]


def read_unlocked(directory, seconds):
    """Reads both files without the lock: genv writes in place, so only what does not change for a while is valid."""
    def observe(name):
        return status_in(directory, name), state_file(directory, name), status_in(directory, name)

    stop = time.monotonic() + seconds
    earlier = [observe(name) for name in STATE_NAMES]
    while True:
        time.sleep(0.05)
        now = [observe(name) for name in STATE_NAMES]
        files = [file if before == after and (before, file, after) == former else
                 ({"unreadable": {"cause": "CHANGES_WITHOUT_LOCK", "number": 0, "reason": ""}}, None)
                 for (before, file, after), former in zip(now, earlier)]
        if all(one == other for one, other in zip(now, earlier)) or time.monotonic() > stop:
            return files
        earlier = now


def read_state(proc, directory, acts, seconds):
    """Returns the parts lock, envs, devices of StateFacts, and the bytes of envs.json."""
    lock, facts = GenvLock(directory, seconds, False), NOT_ATTEMPTED
    files = None
    while acts and files is None and lock.take():
        facts = lock.facts(proc)
        files = read_files(directory)
        if lock.descriptor is None and status_in(directory, lock.NAME):
            files = None  # somebody may have been writing
            lock.outcome, lock.reason = "UNUSABLE", "is created and removed repeatedly"
            if not lock.has_time():
                break
    if files is None:
        facts = lock.facts(proc) if acts else NOT_ATTEMPTED
        files = read_unlocked(directory, 1)
    lock.release()
    (envs, content), (devices, _) = files
    return {"lock": facts, "envs": envs, "devices": devices}, content


def changed_at(clock, directory):
    """Returns when the directory or a state file in it was last changed, in clock ticks, rather later than earlier."""
    changes = [os.fstat(directory).st_ctime_ns]
    changes += [status[-1] for status in (status_in(directory, name) for name in STATE_NAMES) if status]
    ago = time.time() - max(changes) / 1e9
    return clock.ticks() - int(ago * 100 // 1) + 1


def other_enforcer(proc, directory):
    """Returns the pid of an enforcer that runs on this machine and acts on the directory; None if there is none."""
    try:
        descriptor = open_in(directory, ".genv-enforcer.lock")
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        is_private = stat.S_IMODE(status.st_mode) == 0o600 and status.st_nlink == 1
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or not is_private:
            return None
        # It names its directory: a user may have moved it here from another one.
        if read(descriptor, 64) != b"genv-enforcer of directory %d\n" % os.fstat(directory).st_ino:
            return None
        holders = [pid for pid in proc.holders(status) if pid > 0]
        return next((pid for pid in holders if reading(proc.uid, pid).get("value") == os.geteuid()), None)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def open_state(proc, path):
    """Returns a descriptor of the state directory, or why there is none as a Directory."""
    parent = os.path.realpath(os.path.dirname(path))
    mount = user_mount(proc, path) or user_mount(proc, os.path.join(parent, os.path.basename(path)))
    if mount:
        return None, mount
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK), None
    except FileNotFoundError:
        return None, {"absent": {}}
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            what = "a symbolic link" if os.path.islink(path) else "not a directory"
            return None, unreadable("OTHER", "is " + what)
        return None, unreadable(failure(error)["failure"], error.strerror)


def observe_state(proc, clock, request, lock_seconds, boot):
    """Returns StateFacts and what else is known of the state directory."""
    path = native(request["state"])
    facts = {"lock": NOT_ATTEMPTED, "envs": {"absent": {}}, "devices": {"absent": {}}, "changedAt": None}
    result = {"state": facts, "content": None, "enforcer": None, "leased": None, "isWritable": True}
    directory, facts["directory"] = open_state(proc, path)
    key = "none"
    if directory is not None:
        status = os.fstat(directory)
        key = "%d:%d" % (status.st_dev, status.st_ino)
        result["isWritable"] = os.access(".", os.W_OK, dir_fd=directory)
        result["enforcer"] = other_enforcer(proc, directory) if request["acts"] else None
        parts, content = read_state(proc, directory, request["acts"], lock_seconds)
        now = os.stat(path, follow_symlinks=False) if os.path.lexists(path) else None
        if now and (now.st_dev, now.st_ino) == (status.st_dev, status.st_ino):
            known = statx(directory, "", AT_EMPTY_PATH)
            identity = {"device": status.st_dev, "inode": number(status.st_ino)}
            facts["directory"] = {"present": {"id": identity, "born": known[2] if known else 0}}
            facts.update(parts)
            facts["changedAt"] = changed_at(clock, directory)
            result["content"] = base64(content) if content else None
        else:
            facts["directory"] = unreadable("OTHER", "is replaced while it is read")
    if request["acts"]:
        result["leased"] = lease(request, key, boot, clock.ticks())
    return result


def lease(request, key, boot, now):
    """Takes or keeps the right to act on this machine over SSH. Returns Leased if another service has it."""
    holder, seconds = request["lease"]["holder"], request["lease"]["seconds"]
    try:
        os.mkdir(native(request["run"]), 0o700)
    except OSError:
        pass  # it exists, or this login may not create it: then there is no lease
    try:
        directory = os.open(native(request["run"]), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    status = os.fstat(directory)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) != 0o700:
        return None
    lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=directory)
    stop = time.monotonic() + 1
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > stop:
                return {"secondsAgo": 0, "secondsLeft": 0}
            time.sleep(PAUSE)
    other, since, until = read_lease(directory, key, boot, now)
    if other and other != holder:
        return {"secondsAgo": (now - since) // 100, "secondsLeft": (until - now) // 100 + 1}
    if seconds > 0:
        # Whoever creates and removes the state directory must not fill this one.
        for name in os.listdir(directory) if not other else []:
            if ":" in name and not read_lease(directory, name, boot, now)[0]:
                os.unlink(name, dir_fd=directory)
        file = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=directory)
        write(file, ("%s %d %d %s\n" % (holder, now, now + int(seconds * 100), boot)).encode())
        os.close(file)
    os.close(lock)
    os.close(directory)
    return None


def read_lease(directory, name, boot, now):
    """Returns the holder, the start and the end of a valid lease; None and zeros if there is none."""
    try:
        file = os.open(name, os.O_RDONLY, dir_fd=directory)
    except FileNotFoundError:
        return None, 0, 0
    words = read(file, 4096).decode("ascii", "replace").split() + [""] * 4
    os.close(file)
    if not words[1].isdigit() or not words[2].isdigit() or words[3] != boot or int(words[2]) <= now:
        return None, 0, 0
    return words[0], int(words[1]), int(words[2])


def state_facts(proc, clock, request, boot):
    lock_seconds = clock.limit(request["lockTimeout"], 0.28)
    seconds = clock.limit(lock_seconds + 4, 0.11)

    def task():
        yield observe_state(proc, clock, request, lock_seconds, boot)

    try:
        return call(task, seconds)
    except NoAnswer:
        mount = mount_of(proc, native(request["state"]))
        why = "there was no answer within %d ms" % (seconds * 1000)
        if mount:
            why += "; it is in a file system of the type %s that is mounted on %s" % (text(mount[1]), text(mount[0]))
        directory = unreadable("TIMEOUT", why)
    except OSError as error:  # such as too many processes
        directory = unreadable("OTHER", error.strerror)
    facts = {"directory": directory, "lock": NOT_ATTEMPTED, "envs": {"absent": {}}, "devices": {"absent": {}},
             "changedAt": None}
    return {"state": facts, "content": None, "enforcer": None, "leased": None, "isWritable": True}


def liveness_facts(proc, clock, content, skip_kernels):
    """Returns LivenessFacts: of all numbers in envs.json those that are pids now, and the kernels."""
    kernels = {"files": [], "unsearched": ""}
    try:
        running = {str(pid).encode(): pid for pid in proc.pids()}
    except OSError as error:
        return {"processes": failure(error), "kernels": kernels}
    named = {match.group() for match in re.finditer(rb"[0-9]+", content) if match.group() in running}
    processes = []
    for pid in sorted(map(int, named)):
        content_of_stat = reading(proc.stat, pid)
        uid = reading(proc.uid, pid)
        if content_of_stat.get("failure") != "ABSENT" or uid.get("failure") != "ABSENT":
            start = stat_fields(content_of_stat.get("value", b""))[19]
            processes.append({"pid": pid, "uid": uid.get("value"), "startTime": int(start) if start.isdigit() else None})
    # Escapes may hide the name; then the search is only unnecessary.
    if re.search(rb'"kernel_ids"\s*:\s*\[\s*[^\]\s]', content) or b"\\u" in content:
        if skip_kernels:
            kernels["unsearched"] = "reading the arguments of a process hung in an earlier observation"
        else:
            kernels = find_kernels(proc, clock, sorted(running.values()))
    return {"processes": {"value": processes}, "kernels": kernels}


def find_kernels(proc, clock, pids):
    """Searches the arguments of all processes for the connection files of Jupyter kernels."""
    def task(pid):
        try:
            arguments = read_file(proc.path(pid, "cmdline"), LARGEST_ARGUMENTS)
        except OSError:
            return  # it has exited
        complete = arguments.split(b"\0")[:-1 if len(arguments) == LARGEST_ARGUMENTS else None]
        names = {re.split(b"[/=]", argument)[-1] for argument in complete}
        files = [os.fsdecode(name) for name in names if name.startswith(b"kernel-") and name.endswith(b".json")]
        if files:
            yield {"files": [text(file) for file in files]}

    turns, order, owners = {}, [], {}
    for pid in pids:
        uid = reading(proc.uid, pid).get("value")
        turns[uid] = turns.get(uid, 0) + 1
        order.append((turns[uid], pid))
        owners[pid] = uid
    # One process of each user, then the next one: the processes of one user do not use up the time.
    memories = Memories(proc, time.monotonic() + clock.limit(2, 0.05))
    found = memories.read({pid: owners[pid] for _, pid in sorted(order)}, task)
    unsearched = ""
    for pid, why in memories.failures.items():
        what = "reading its arguments hangs" if why["failure"] == "TIMEOUT" else "the search reached its limit"
        unsearched = "process %d of uid %s: %s" % (pid, owners[pid], what)
        break
    if len(memories.failures) > 1:
        unsearched += " (and %d more)" % (len(memories.failures) - 1)
    return {"files": sorted({file for value in found.values() for file in value.get("files", [])}),
            "unsearched": unsearched}


def access_facts(proc, is_writable):
    """Returns AccessFacts."""
    status = first_match(proc, "self/status", rb"^CapEff:\s+([0-9a-f]{1,16})$")
    label = first_line(proc.root + "/self/attr/apparmor/current") or first_line(proc.root + "/self/attr/current")
    namespace = reading(os.readlink, proc.root + "/self/ns/pid").get("value", "")
    return {"pid": os.getpid(), "capabilities": number(int(status or b"0", 16)), "pidNamespace": text(namespace),
            "securityLabel": label, "stateIsWritable": is_writable}


def first_match(proc, name, pattern):
    match = re.search(pattern, reading(read_file, "%s/%s" % (proc.root, name)).get("value", b""), re.M)
    return match.group(1) if match else None


def observe(request, clock):
    """Returns HostFacts. The order is that of their documentation: processes before the state."""
    proc, etc = Proc(clock.proc), native(request["etc"])
    boot = first_line(clock.proc + "/sys/kernel/random/boot_id")
    machine = {
        "machineId": first_line(etc + "/machine-id") or first_line(os.path.dirname(etc) + "/var/lib/dbus/machine-id"),
        "bootId": boot, "driver": first_line(clock.proc + "/driver/nvidia/version")}
    accounts = {name: reading(text_file, "%s/%s" % (etc, name), request[name]) for name in ("passwd", "subuid")}
    programs = [reading(program_file, native(path)) for path in request["programs"]]
    machine["beforeListing"] = clock.ticks()
    gpu, pids, tool_hangs = gpu_facts(request["gpu"], clock)
    known = [program["value"] for program in programs if "value" in program]
    stop = clock.finish - 0.22 * clock.budget
    processes = process_facts(proc, pids, set(request["skip"]), known, stop)
    machine["beforeState"] = clock.ticks()
    state = state_facts(proc, clock, request, boot)
    content = binascii.a2b_base64(state["content"] or "")
    liveness = liveness_facts(proc, clock, content, request["skipKernels"])
    other = {"onMachine": {"pid": state["enforcer"]}} if state["enforcer"] else None
    if not other and state["leased"]:
        other = {"leased": state["leased"]}
    verified = [{"pid": pid, "stat": stat_reading(proc, pid)} for pid in request["verified"]]
    facts = {"machine": machine, "access": access_facts(proc, state["isWritable"]), "accounts": accounts,
             "programs": programs, "gpu": gpu, "processes": processes, "state": state["state"], "liveness": liveness,
             "enforcers": {"other": other, "unusable": ""}, "verified": verified}
    return {"facts": facts, "toolHangs": tool_hangs}


def main(argument):
    """Executes the request, which is JSON in Base64, and prints the answer."""
    request = json.loads(binascii.a2b_base64(argument).decode())
    os.umask(0o077)
    os.chdir("/")
    write(1, b"\n")  # the output of the login in front of it may not have ended its line
    try:
        clock = Clock(native(request["proc"]), request["budget"])
        answer = {"observe": observe}[request["do"]](request, clock)
    except Bug as error:
        answer = {"failed": "the agent failed: %s" % error}
    except Exception as error:
        answer = {"failed": "the agent failed: %s" % where(error)}
    content = json.dumps(answer).encode()
    write(1, b"@%s %s %s\n" % (request["nonce"].encode(), content, sha256(content).encode()))
    os._exit(0)  # nothing that hangs is waited for
