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
        require_few_children()
        try:
            process = subprocess.Popen(
                [self.path] + arguments, bufsize=0, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env={"PATH": PATH, "LC_ALL": "C", "GENV_BYPASS": "1"}, start_new_session=True)
        except OSError as error:
            if error.filename is None:
                raise  # there is no child process, such as if there are too many
            return {"exitCode": 127, "stdout": b"", "stderr": b"it cannot be run: %s" % os.strerror(error.errno).encode()}
        with process.stdout, process.stderr:
            out, err = bytearray(), bytearray()
            open_ones, is_over = {process.stdout: out, process.stderr: err}, False
            # A child of the tool may keep its output open for ever, so the end of the output does not count.
            while not is_over and max(len(out), len(err)) <= LARGEST_OUTPUT:
                is_over = process.poll() is not None or time.monotonic() > deadline
                seconds_to_wait = 0 if is_over else 0.02 if open_ones else 0.001
                for stream in select.select(list(open_ones), [], [], seconds_to_wait)[0]:
                    part = stream.read(PART)
                    open_ones[stream].extend(part)
                    if not part:
                        del open_ones[stream]
        exited = process.returncode is not None
        if not exited:
            self.kill(process)
        if max(len(out), len(err)) > LARGEST_OUTPUT:
            raise OSError(errno.EFBIG, "%s printed more than %d bytes" % (self.name, LARGEST_OUTPUT))
        if not exited:
            raise NoAnswer("%s did not exit within %.2f s" % (self.name, seconds))
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return {"exitCode": code, "stdout": bytes(out), "stderr": bytes(err)}

    def kill(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            self.hangs = True
            KILLED.append(lambda: process.poll() is None)


def gpu_facts(machine):
    """Returns GpuFacts, the listed pids, and whether the tool still runs and cannot be terminated."""
    request = machine.request["gpu"]
    found = SKIPPED if machine.request["omitted"]["tool"] else reading(find_program, request["program"])
    processes, devices, pids, hangs = found, found, [], False
    if "value" in found:
        tool = Tool(found["value"])
        processes = devices = tool_reading(tool, request["processes"], machine)
        if processes.get("failure") != "TIMEOUT":
            devices = tool_reading(tool, request["devices"], machine)
        hangs = tool.hangs
    if "value" in processes:
        columns = [line.split(b",")[1].strip() for line in processes["value"]["stdout"].split(b"\n") if b"," in line]
        pids = {int(pid) for pid in columns if pid.isdigit() and len(pid) < 10} - {0}
    if len(pids) > MOST_PROCESSES:
        why = "%s lists more processes than can be observed: %d" % (tool.name, len(pids))
        processes, pids = failed("OTHER", why), []
    return {"processes": processes, "devices": devices, "devicesAreCurrent": True}, pids, hangs


def tool_reading(tool, arguments, machine):
    return reading(tool.run, arguments, machine.limit(machine.request["gpu"]["timeout"], 0.44))


def status_reading(machine, facts):
    """Returns what nvidia-smi measures on the GPUs. Only metrics need it, so it has little time, and a hang of it is no hang of
    the other queries."""
    if not machine.request["deviceStatus"] or "failure" in facts["processes"] or "failure" in facts["devices"]:
        return failed("SKIPPED")
    if machine.request["omitted"]["status"]:
        return failed("SKIPPED", "nvidia-smi gave no answer in time in an earlier observation: it is not asked for a while")
    request = machine.request["gpu"]
    seconds = machine.limit(min(request["timeout"], STATUS_SECONDS), 0.05)
    return reading(lambda: Tool(find_program(request["program"])).run(request["status"], seconds))
