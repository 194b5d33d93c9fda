"""Child processes, for what may never end."""
MOST_CHILDREN = 256
MOST_OF_SEARCHES = 128  # users have any number of processes, so some children are left for the listed ones
KILLED = []  # for each killed child a function that returns whether it exists: SIGKILL ends no system call that hangs


class Bug(Exception):
    """An unexpected exception in a child process, as text."""


def count_hanging():
    """Returns how many killed children still exist."""
    KILLED[:] = [exists for exists in KILLED if exists()]
    return len(KILLED)


def await_children():
    """Gives killed children a moment to exit, because they would stay as zombies until the next request."""
    stop = time.monotonic() + 10 * PAUSE
    while count_hanging() and time.monotonic() < stop:
        time.sleep(PAUSE)


def require_few_children(most=MOST_CHILDREN):
    """Raises OSError if so many children hang that another one is too much."""
    if count_hanging() >= most:
        raise OSError(errno.EAGAIN, "%d child processes of the agent hang" % len(KILLED))


class Call:
    """Tasks that a child process executes in order, because a system call may never return.

    A task is a function that yields dictionaries. A task that does not answer in time is left behind with the child.
    """

    def __init__(self, tasks, most=MOST_CHILDREN):
        """Raises OSError if there are too many processes, such as as many children that hang."""
        require_few_children(most)
        self.channel, channel = socket.socketpair()
        self.answers = self.channel.makefile("rb")
        with channel:
            try:
                self.pid = os.fork()
            except OSError:
                self.close()
                raise
            if self.pid == 0:
                self.close()
                self.execute(tasks, channel)

    def close(self):
        self.answers.close()
        self.channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        KILLED.append(lambda: os.waitpid(pid, os.WNOHANG)[0] == 0)
        self.close()

    @staticmethod
    def execute(tasks, channel):
        """Never returns. The caller of this program waits for its output, so the child must not keep that open."""
        try:
            for descriptor in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            for task in tasks:
                for part in itertools.chain(task(), [None]):
                    Call.send(channel, part)
                    if part == {"begun": True} and not channel.recv(1):
                        return
        except OSError as error:
            Call.send(channel, {"error": [error.errno or 0, error.strerror or ""]})
        except BaseException as error:
            Call.send(channel, {"bug": where(error)})
        finally:
            os._exit(0)

    @staticmethod
    def send(channel, part):
        content = marshal.dumps(part)
        channel.sendall(len(content).to_bytes(8, "big") + content)

    def permit(self):
        """Lets a task continue that has yielded that it is about to begin."""
        self.channel.sendall(b"!")

    def part(self, deadline):
        """Returns what a task yields next, or None at its end. Raises NoAnswer, or the OSError of the task."""
        self.channel.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            content = self.answers.read(int.from_bytes(self.answers.read(8), "big"))
        except socket.timeout:
            raise NoAnswer
        if not content:
            raise Bug("the end of a child process")
        part = marshal.loads(content)
        if part and "error" in part:
            raise OSError(*part["error"])
        if part and "bug" in part:
            raise Bug(part["bug"])
        return part

    def parts(self, seconds):
        """Yields what remains of the next task. Raises as part does."""
        deadline = time.monotonic() + seconds
        return iter(lambda: self.part(deadline), None)

    def merge(self, merged, seconds):
        """Adds what remains of the next task: that stays known if the rest does not answer. Raises as part does."""
        for part in self.parts(seconds):
            merged.update(part)
        return merged


def call(task, seconds, known=None):
    """Returns the merged parts of one task, in a new dictionary or in this one. Raises NoAnswer, OSError."""
    with Call([task]) as child:
        return child.merge({} if known is None else known, seconds)
