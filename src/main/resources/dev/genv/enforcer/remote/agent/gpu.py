"""The answers of nvidia-smi."""
LARGEST_OUTPUT = 1 << 20
MOST_PROCESSES = 4096
STATUS_SECONDS = 5
SKIPPED = failed("SKIPPED", "nvidia-smi hung in an earlier observation and could not be terminated: "
                            "it is not run for a while")


class Tool:
    """A program that is run in its own process group, with a clean environment, a time limit and bounded output."""

    def __init__(self, path):
        self.path, self.name = path, text(os.path.basename(path))
        self.hangs = False  # whether not even SIGKILL terminated it

    def run(self, arguments, seconds):
        """Returns a ToolOutput."""
        deadline = time.monotonic() + seconds
        Children.require_few()
        try:
            process = subprocess.Popen(
                [self.path] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={"PATH": PATH, "LC_ALL": "C", "GENV_BYPASS": "1"}, start_new_session=True)
        except OSError as error:
            if error.filename is None:
                raise  # there is no child process, such as if there are too many
            return {"exitCode": 127, "stdout": "", "stderr": base64(b"it cannot be run: %s" % os.strerror(error.errno).encode())}
        with process.stdout, process.stderr:
            out, err = bytearray(), bytearray()
            unfinished = {process.stdout: out, process.stderr: err}
            # A child of the tool may keep its output open for ever, so the end of the output does not count.
            while process.poll() is None and time.monotonic() < deadline and max(len(out), len(err)) <= LARGEST_OUTPUT:
                self.collect(unfinished, 0.02 if unfinished else 0.001)
            exited = process.returncode is not None
            if not exited:
                self.kill(process)
            self.collect(unfinished, 0)
        if max(len(out), len(err)) > LARGEST_OUTPUT:
            raise OSError(errno.EFBIG, "%s printed more than %d bytes" % (self.name, LARGEST_OUTPUT))
        if not exited:
            raise NoAnswer("%s did not exit within %.2f s" % (self.name, seconds))
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return {"exitCode": code, "stdout": base64(out), "stderr": base64(err)}

    @staticmethod
    def collect(streams, seconds):
        """Adds what comes within this time to the output of each stream, and removes the streams that have ended."""
        for stream in select.select(list(streams), [], [], seconds)[0]:
            part = os.read(stream.fileno(), PART)
            streams[stream].extend(part)
            if not part:
                del streams[stream]

    def kill(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            self.hangs = True
            Children.killed.append(lambda: process.poll() is None)


def gpu_facts(request, machine):
    """Returns GpuFacts, the listed pids, and whether the tool still runs and cannot be terminated."""
    found, pids, hangs = SKIPPED if request["skip"] else reading(find_program, request["program"]), [], False
    processes = devices = found
    if "value" in found:
        tool = Tool(found["value"])
        processes = devices = tool_reading(tool, request["processes"], request, machine)
        if processes.get("failure") != "TIMEOUT":
            devices = tool_reading(tool, request["devices"], request, machine)
        hangs = tool.hangs
    if "value" in processes:
        lines = binascii.a2b_base64(processes["value"]["stdout"]).split(b"\n")
        columns = [line.split(b",")[1].strip() for line in lines if b"," in line]
        pids = {int(pid) for pid in columns if pid.isdigit() and len(pid) < 10} - {0}
    if len(pids) > MOST_PROCESSES:
        why = "%s lists more processes than can be observed: %d" % (tool.name, len(pids))
        processes, pids = failed("OTHER", why), []
    return {"processes": processes, "devices": devices, "devicesAreCurrent": True}, pids, hangs


def status_reading(request, machine, facts):
    """Returns what nvidia-smi measures on the GPUs. Only metrics need it, so it has little time, and a hang of it is no hang of
    the other queries."""
    if not request["status"] or "failure" in facts["processes"] or "failure" in facts["devices"]:
        return failed("SKIPPED")
    if request["skipStatus"]:
        return failed("SKIPPED", "nvidia-smi gave no answer in time in an earlier observation: it is not asked for a while")
    seconds = machine.limit(min(request["timeout"], STATUS_SECONDS), 0.05)
    arguments = [request["status"]] + request["arguments"]
    return reading(lambda: Tool(find_program(request["program"])).run(arguments, seconds))


def tool_reading(tool, query, request, machine):
    return reading(tool.run, [query] + request["arguments"], machine.limit(request["timeout"], 0.44))
