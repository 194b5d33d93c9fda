"""A child process, for what may never end."""
MOST_CHILDREN = 256
MOST_OF_SEARCHES = 128  # users have any number of processes, so some children are left for the listed ones
PR_SET_PDEATHSIG = 1
MAY_HANG = {}  # a task yields it before what may never end: what it has yielded before is known then
BEGUN = {"begun": True}  # a task yields it, and waits for a byte that permits it to continue
KILLED = []  # for each killed child a function that returns whether it exists: SIGKILL ends no system call that hangs


class Bug(Exception):
    """An unexpected exception in a child process, as text."""


def count_hanging():
    """Returns how many killed children still exist."""
    KILLED[:] = [exists for exists in KILLED if exists()]
    return len(KILLED)


def require_few_children(most=MOST_CHILDREN):
    """Raises OSError if so many children hang that another one is too much."""
    if count_hanging() >= most:
        raise OSError(errno.EAGAIN, "%d child processes of the agent hang" % len(KILLED))


class Worker:
    """A child process that executes one task after the other, because a system call may never return.

    A task is a function with its arguments. It yields dictionaries, and None between groups of them. A child stays for the next
    task, unless one does not answer in time: it is left behind with that child. A child keeps nothing of a task.
    """

    idle = None  # the one that stays

    def __init__(self, most):
        """Raises OSError if too many processes exist or children hang."""
        require_few_children(most)
        self.channel, channel = socket.socketpair()
        self.answers = self.channel.makefile("rb")
        with channel:
            self.pid = os.fork()
            if self.pid == 0:
                self.work(channel.fileno())

    def close(self):
        self.answers.close()
        self.channel.close()

    def exists(self):
        return os.waitpid(self.pid, os.WNOHANG)[0] == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.stays and self.is_over:
            Worker.idle = self
        else:
            os.kill(self.pid, signal.SIGKILL)
            KILLED.append(self.exists)
            self.close()

    @staticmethod
    def work(descriptor):
        """Never returns. The caller of this program waits for its output, so the child must not keep that open."""
        try:
            reading(library_call, "prctl", PR_SET_PDEATHSIG, signal.SIGKILL)  # the end of the requests ends only an idle one
            os.dup2(descriptor, 3)
            for number in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            requests, answer = open(3, "rb", closefd=False), b""
            while True:
                os.closerange(4, 256)  # what a task has left open, such as its locks
                write(3, answer)
                function, *arguments = pickle.load(requests)
                answer = Worker.execute(function(*arguments), requests)
        finally:
            os._exit(0)

    @staticmethod
    def execute(parts, requests):
        """Returns what is still to be sent of the answer."""
        answer = b""
        try:
            for part in parts:
                answer += b"" if part == MAY_HANG else pickle.dumps(part)
                if part in (MAY_HANG, BEGUN) or len(answer) > PART:
                    write(3, answer)
                    answer = b""
                if part == BEGUN and not requests.read(1):
                    os._exit(0)
            return answer + pickle.dumps(False)
        except OSError as error:
            return answer + pickle.dumps(OSError(error.errno or 0, error.strerror or ""))
        except BaseException as error:
            return answer + pickle.dumps(Bug(where(error)))

    def part(self, deadline):
        """Returns what the task yields next, or None at the end of a group. Raises NoAnswer, or the exception of the task."""
        self.channel.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            if self.request:
                self.channel.sendall(self.request)
                self.request = b""
            part = pickle.load(self.answers)
        except socket.timeout:
            raise NoAnswer
        except (EOFError, pickle.UnpicklingError):
            raise Bug("the end of a child process")
        self.is_over = part is False or isinstance(part, Exception)
        if isinstance(part, Exception):
            raise part
        return None if self.is_over else part

    def parts(self, seconds):
        """Yields what remains of the group. Raises as part does."""
        deadline = time.monotonic() + seconds
        return iter(lambda: self.part(deadline), None)

    def merge(self, merged, seconds):
        """Adds what remains of the group: that stays known if the rest does not answer. Raises as part does."""
        for part in self.parts(seconds):
            merged.update(part)
        return merged


def execute(task, *arguments, most=MOST_CHILDREN, stays=True):
    """Returns the child that stays, or another one, for one task with these arguments. Raises OSError as Worker does."""
    worker = Worker.idle if stays and Worker.idle and Worker.idle.exists() else Worker(most)
    Worker.idle = None if stays else Worker.idle
    worker.stays, worker.is_over, worker.request = stays, False, pickle.dumps((task,) + arguments)
    return worker


def call(worker, seconds, known=None):
    """Returns the merged parts of its task, in a new dictionary or in this one. Raises NoAnswer, OSError."""
    with worker:
        return worker.merge({} if known is None else known, seconds)


atexit.register(lambda: Worker.idle and Worker.idle.close())
