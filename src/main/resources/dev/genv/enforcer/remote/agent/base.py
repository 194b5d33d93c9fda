"""The program that runs on other machines: it gathers facts about one (observe), or carries out actions on it (act).

Its parts are sent over standard input, one after the other; this is the first, and a last line calls main. Users of the
machine write most of what it reads: names, environments and state files hold any bytes, change at any moment, and
reading them may never end.

It runs on every machine in every cycle, so it imports little: the modules json, re, signal and subprocess alone would
take as long as all that it does.
"""
import binascii
import errno
import fcntl
import itertools
import marshal
import os
import select
import stat
import sys
import time

if sys.version_info < (3, 6):
    sys.exit("Python %d.%d is too old" % sys.version_info[:2])

LARGEST_LIST = 16 << 20
PAUSE = 0.01  # seconds
SIGKILL = 9
FAILURES = {errno.ENOENT: "ABSENT", errno.ESRCH: "ABSENT", errno.ENOTDIR: "ABSENT",
            errno.EACCES: "DENIED", errno.EPERM: "DENIED"}


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
        part = os.read(descriptor, min(limit - len(content), 1 << 16))
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
                    Call.send(answers, part)
                    if part == {"begun": True} and not os.read(permits, 1):
                        return
        except OSError as error:
            Call.send(answers, {"error": [error.errno or 0, error.strerror or ""]})
        except BaseException as error:
            Call.send(answers, {"bug": where(error)})
        finally:
            os._exit(0)

    @staticmethod
    def send(answers, part):
        content = marshal.dumps(part)
        write(answers, len(content).to_bytes(8, "big") + content)

    def parts(self, seconds):
        """Yields what the next task yields. Raises NoAnswer, or the OSError of the task; both end the child."""
        deadline = time.monotonic() + seconds
        while True:
            part = marshal.loads(self.receive(int.from_bytes(self.receive(8, deadline), "big"), deadline))
            if part is None:
                return
            if "error" in part:
                raise OSError(*part["error"])
            if "bug" in part:
                raise Bug(part["bug"])
            yield part

    def receive(self, size, deadline):
        while len(self.received) < size:
            if not select.select([self.answers], [], [], max(deadline - time.monotonic(), 0))[0]:
                self.close()
                raise NoAnswer
            content = os.read(self.answers, 1 << 20)
            if not content:
                raise Bug("the end of a child process")
            self.received += content
        content = bytes(self.received[:size])
        del self.received[:size]
        return content

    def permit(self):
        """Lets a task continue that has yielded that it is about to begin."""
        os.write(self.permits, b"!")

    def close(self):
        os.kill(self.pid, SIGKILL)
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


def native(value):
    """Returns a request with its texts as Python has the names of files, whatever the locale is."""
    if isinstance(value, str):
        return os.fsdecode(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        return {key: native(each) for key, each in value.items()}
    return [native(each) for each in value] if isinstance(value, list) else value


def to_json(value):
    """Returns a value as JSON in ASCII."""
    if isinstance(value, dict):
        return "{%s}" % ",".join("%s:%s" % (to_json(key), to_json(each)) for key, each in value.items())
    if isinstance(value, list):
        return "[%s]" % ",".join(map(to_json, value))
    if isinstance(value, str):
        return '"%s"' % (value if is_plain(value) else escaped(value))
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def is_plain(value):
    """Whether a text needs no escapes in JSON, such as Base64 of megabytes."""
    is_ascii = len(value) == len(value.encode("utf-8", "surrogatepass"))
    return is_ascii and value.isprintable() and '"' not in value and "\\" not in value


def escaped(value):
    units = value.encode("utf-16-be", "surrogatepass")
    return "".join("\\u%02x%02x" % pair for pair in zip(units[::2], units[1::2]))


def main(execute, argument):
    """Executes a request, which is JSON in Base64, and prints the answer."""
    # JSON is an expression of Python with these names.
    request = native(eval(binascii.a2b_base64(argument).decode(), {"true": True, "false": False, "null": None}))
    os.umask(0o077)
    os.chdir("/")
    write(1, b"\n")  # the output of the login before this one may have no end
    try:
        answer = execute(Machine(request))
    except Bug as error:
        answer = {"failed": "the agent failed: %s" % error}
    except Exception as error:
        answer = {"failed": "the agent failed: %s" % where(error)}
    content = to_json(answer).encode()
    # A checksum is enough to detect what a login loses or inserts, and hashlib would take longer to import.
    write(1, b"@%s %s %08x\n" % (request["nonce"].encode(), content, binascii.crc32(content) & 0xFFFFFFFF))
    os._exit(0)  # without a wait for anything that hangs
