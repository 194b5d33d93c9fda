"""Child processes, for what may never end."""


class NoAnswer(Exception):
    """A child process did not answer in time."""


class Bug(Exception):
    """An unexpected exception in a child process, as text."""


class Children:
    """The child processes that were killed and may still exist: not even SIGKILL ends a system call that hangs."""
    MOST = 256
    MOST_OF_SEARCHES = 128  # users have any number of processes, so some children are left for the listed ones
    killed = []  # for each, a function that returns whether it exists

    @classmethod
    def collect(cls):
        """Returns how many of them exist."""
        cls.killed = [exists for exists in cls.killed if exists()]
        return len(cls.killed)

    @classmethod
    def wait(cls):
        """Gives them a moment to exit, because they would stay as zombies until the next request."""
        stop = time.monotonic() + 10 * PAUSE
        while cls.collect() and time.monotonic() < stop:
            time.sleep(PAUSE)

    @classmethod
    def require_few(cls, most=MOST):
        """Raises OSError if so many children hang that another one is too much."""
        if cls.collect() >= most:
            raise OSError(errno.EAGAIN, "%d child processes of the agent hang" % len(cls.killed))


class Call:
    """Tasks that a child process executes in order, because a system call may never return.

    A task is a function that yields dictionaries. A task that does not answer in time is left behind with the child.
    """

    def __init__(self, tasks, most=Children.MOST):
        """Raises OSError if there are too many processes, such as as many children that hang."""
        Children.require_few(most)
        self.received = bytearray()
        self.channel, channel = socket.socketpair()
        with channel:
            try:
                self.pid = os.fork()
            except OSError:
                self.channel.close()
                raise
            if self.pid == 0:
                self.channel.close()
                self.execute(tasks, channel)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        Children.killed.append(lambda: os.waitpid(pid, os.WNOHANG)[0] == 0)
        self.channel.close()

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

    def parts(self, seconds):
        """Yields what remains of the next task. Raises NoAnswer, or the OSError of the task."""
        deadline = time.monotonic() + seconds
        return iter(lambda: self.part(deadline), None)

    def merge(self, merged, seconds):
        """Adds what remains of the next task: that stays known if the rest does not answer. Raises as parts does."""
        for part in self.parts(seconds):
            merged.update(part)
        return merged

    def part(self, deadline):
        """Returns what a task yields next, or None at its end. Raises as parts does."""
        part = marshal.loads(self.receive(int.from_bytes(self.receive(8, deadline), "big"), deadline))
        if part and "error" in part:
            raise OSError(*part["error"])
        if part and "bug" in part:
            raise Bug(part["bug"])
        return part

    def receive(self, size, deadline):
        while len(self.received) < size:
            if not select.select([self.channel], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise NoAnswer
            content = self.channel.recv(PART)
            if not content:
                raise Bug("the end of a child process")
            self.received += content
        content = bytes(self.received[:size])
        del self.received[:size]
        return content

    def permit(self):
        """Lets a task continue that has yielded that it is about to begin."""
        self.channel.sendall(b"!")


def call(task, seconds, known=None):
    """Returns the merged parts of one task, in a new dictionary or in this one. Raises NoAnswer, OSError."""
    with Call([task]) as child:
        return child.merge({} if known is None else known, seconds)
