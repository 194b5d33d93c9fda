"""The answers of nvidia-smi."""
LARGEST_OUTPUT = 1 << 20
MOST_PROCESSES = 4096
STATUS_SECONDS = 5
KEEP_DEVICES = 60  # seconds: indices change when a GPU disappears or returns
WARNING = 14  # the exit code beside an answer
PROCESS = re.compile(rb"\s*([^,\s]+)\s*,\s*([1-9][0-9]{0,8})\s*,[^,]*")
DEVICE = re.compile(rb"\s*[0-9]{1,6}\s*,\s*([^[,\s][^,\s]*)\s*,[^,]*")
EVER_LISTED = set()  # UUIDs
LAST_DEVICES = []  # the answer, its UUIDs, until when it counts, and the lines of processes when it counted last
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
            os.killpg(process.pid, signal.SIGKILL)
            try:
                process.wait(0.5)
            except subprocess.TimeoutExpired:
                self.hangs = True
                KILLED.append(lambda: process.poll() is None)
        if max(len(out), len(err)) > LARGEST_OUTPUT:
            raise OSError(errno.EFBIG, "%s printed more than %d bytes" % (self.name, LARGEST_OUTPUT))
        if not exited:
            raise NoAnswer("%s did not exit within %.2f s" % (self.name, seconds))
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        return {"exitCode": code, "stdout": bytes(out), "stderr": bytes(err)}


def gpu_facts(machine):
    """Returns GpuFacts, the listed pids, and whether the tool still runs and cannot be terminated."""
    request = machine.request["gpu"]
    found = SKIPPED if machine.request["omitted"]["tool"] else reading(find_program, request["program"])
    processes, devices, is_current, pids, hangs = found, found, True, [], False
    last, LAST_DEVICES[:] = LAST_DEVICES[:], []  # a failure may change the indices
    if "value" in found:
        tool = Tool(found["value"])
        processes = devices = tool_reading(tool, request["processes"], machine)
        if processes.get("failure") != "TIMEOUT":
            devices, is_current = device_reading(tool, machine, processes, last)
        hangs = tool.hangs
    if "value" in processes:
        columns = [line.split(b",")[1].strip() for line in processes["value"]["stdout"].split(b"\n") if b"," in line]
        pids = {int(pid) for pid in columns if pid.isdigit() and len(pid) < 10} - {0}
    if len(pids) > MOST_PROCESSES:
        why = "%s lists more processes than can be observed: %d" % (tool.name, len(pids))
        processes, pids = failed("OTHER", why), []
    return {"processes": processes, "devices": devices, "devicesAreCurrent": is_current}, pids, hangs


def device_reading(tool, machine, processes, last):
    """Returns a Reading of the devices, and whether it is new: the last one counts until a device may be another, as on the node."""
    listed = rows(processes, PROCESS)
    uuids = {uuid for uuid, _ in listed or ()}
    if last and time.monotonic() < last[2] and not machine.request["deviceMemory"]:
        if listed is not None and listed >= last[3] and uuids <= last[1]:
            LAST_DEVICES[:] = last[:3] + [listed]
            return last[0], False
    devices = tool_reading(tool, machine.request["gpu"]["devices"], machine)
    known = {uuid for uuid, in rows(devices, DEVICE) or ()}
    EVER_LISTED.update(known)
    if listed is not None and known and known >= EVER_LISTED | uuids:
        LAST_DEVICES[:] = [devices, known, time.monotonic() + KEEP_DEVICES, listed]
    return devices, True


def rows(answer, pattern):
    """Returns what the lines of an answer name; None if it is none, or one names nothing or the same as another."""
    code, content = (answer.get("value", {}).get(key) for key in ("exitCode", "stdout"))
    if code not in (0, WARNING) or b"[GPU is lost]" in content:
        return None
    # Beside a warning, what has no two commas is none of the lines.
    lines = [line for line in content.splitlines() if line.strip() and (code == 0 or line.count(b",") > 1 or b"device handle" in line)]
    found = [match and match.groups() for match in map(pattern.fullmatch, lines)]
    return set(found) if None not in found and len(set(found)) == len(found) else None


def tool_reading(tool, arguments, machine):
    return reading(tool.run, arguments, machine.limit(machine.request["gpu"]["timeout"], 0.44))


def status_reading(machine, facts):
    """Returns what nvidia-smi measures on the GPUs. Only metrics need it: it has little time, and its hang is none of the others."""
    if not machine.request["deviceStatus"] or "failure" in facts["processes"] or "failure" in facts["devices"]:
        return failed("SKIPPED")
    if machine.request["omitted"]["status"]:
        return failed("SKIPPED", "nvidia-smi gave no answer in time in an earlier observation: it is not asked for a while")
    request = machine.request["gpu"]
    seconds = machine.limit(min(request["timeout"], STATUS_SECONDS), 0.05)
    return reading(lambda: Tool(find_program(request["program"])).run(request["status"], seconds))
