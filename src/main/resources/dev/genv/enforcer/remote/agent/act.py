"""Carries out actions on a machine, each only if it is still right."""
PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434  # of syscall(2) on every architecture
TEMPORARY = ".devices.json.genv-enforcer-"
MOST_NAMES = 10000  # users choose the number of files


class Handle:
    """A handle of a process (pidfd), which never refers to a later process with the same pid."""

    def __init__(self, pid):
        """Raises ProcessLookupError if there is no such process."""
        self.pid, self.descriptor = pid, None
        try:
            self.descriptor = library_call("syscall", PIDFD_OPEN, pid, 0)
        except ProcessLookupError:
            raise
        except OSError as error:
            # The number of a thread, or of a process group whose leader has exited: ENOENT since Linux 6.15, EINVAL before.
            if error.errno in (errno.ENOENT, errno.EINVAL):
                raise ProcessLookupError
            # Otherwise this system has no handles.

    def send(self, signal_number):
        if self.descriptor is None:
            os.kill(self.pid, signal_number)
        else:
            library_call("syscall", PIDFD_SEND_SIGNAL, self.descriptor, signal_number, None, 0)


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
                handle.send({"TERM": signal.SIGTERM, "KILL": signal.SIGKILL}[action["signal"]])
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
    # It can wait, so it comes before the last check.
    without_device = device_refusal(machine, action)
    uid = reading(machine.uid, action["pid"]).get("value")
    if uid is None or (uid in action["exempt"] if action["uid"] is None else uid != action["uid"]):
        return {"result": "OTHER_USER", "uid": uid}
    try:
        facts = call(lambda: machine.process(action["pid"]), machine.limit(1, 0.05))
    except (NoAnswer, OSError):  # such as too many processes
        return {"result": "TIMEOUT"}
    environ = facts.get("environ", {}).get("value")
    if environ is None or not is_unchanged(facts):
        return {"result": "UNREADABLE"}
    addresses = [signed(int(field or 0)) for field in fields(binascii.a2b_base64(facts["before"]["value"]))[45:49]]
    is_elsewhere = action["addresses"] and addresses != action["addresses"]
    if is_elsewhere or (environ["id"], environ["digest"]) != (action["id"], action["digest"]):
        return {"result": "CHANGED", "environ": environ, "stat": facts["before"]["value"]}
    if action["files"] and may_be_one_of(facts, action["files"]):
        return {"result": "PROTECTED"}
    return without_device


def device_refusal(machine, action):
    """Returns why a process is not shown to use a device; None if it is. A listed pid can be that of a later process."""
    try:
        return None if holds_device(machine, action["pid"]) else {"result": "WITHOUT_DEVICE"}
    except (NoAnswer, OSError):
        return {"result": "UNEXAMINED"}


def may_be_one_of(facts, files):
    """Whether a process may run one of these files. They were examined before, so what cannot be examined is none."""
    program = facts.get("executable", failed("OTHER"))
    return program["value"] in files if "value" in program else program["failure"] != "UNTRUSTED"


def is_unchanged(facts):
    """Whether all that was read is of one process. The kernel shows an empty environ during execve, without an address."""
    before, after = (fields(binascii.a2b_base64(facts[key].get("value", ""))) for key in ("before", "after"))
    is_answer = facts["environ"]["value"]["size"] > 0 or has_exited(before) or b"0" not in (before[48], after[48])
    return before[19] == after[19] and is_answer


def detach(machine, action):
    """Replaces devices.json, and returns LockFacts and the result."""
    result = {"lock": NOT_ATTEMPTED, "result": "LATE", "reason": "", "file": None}
    if not is_late(machine):
        lock_seconds = machine.limit(machine.request["lockTimeout"], 0.05)
        seconds = machine.limit(lock_seconds + 4, 0.02)
        try:
            with Call([lambda: replace_devices(machine, action, lock_seconds)]) as child:
                for part in child.parts(seconds):
                    if part == {"begun": True}:
                        begin(machine, action)
                        child.permit()
                    result.update(part)
        except NoAnswer:
            result.update(result="TIMEOUT", reason="there was no answer within %d ms" % (seconds * 1000))
        except Bug as error:
            result.update(result="TIMEOUT", reason="the agent failed: %s" % error)
        except OSError as error:
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
            yield {"result": "DONE"}
            return
    except OSError as error:
        yield {"result": "UNWRITTEN", "reason": error.strerror}
    remove(directory, name)


def remove_leftovers(directory):
    """Removes temporary files of runs that were killed. Another enforcer writes one only under the lock."""
    for entry in itertools.islice(os.scandir("/proc/self/fd/%d" % directory), MOST_NAMES):
        end = entry.name[len(TEMPORARY):]
        if entry.name.startswith(TEMPORARY) and len(end) == 16 and set(end) <= set("0123456789abcdef"):
            remove(directory, entry.name)


def remove(directory, name):
    try:
        os.unlink(name, dir_fd=directory)
    except OSError:
        pass  # such as a user's directory of that name, which is harmless


def act(machine):
    """Carries out the actions of a request, each only if it is still right."""
    def leased(directory=None):
        status = None if directory is None else os.fstat(directory)
        yield {"leased": lease(machine, "%d:%d" % (status.st_dev, status.st_ino) if status else "none")}

    answer = {"leased": None, "handles": "pidfd", "results": [], "lock": NOT_ATTEMPTED, "detached": None}
    try:
        answer.update(call(lambda: leased(open_state(machine)[0]), machine.limit(4, 0.5)))
    except (NoAnswer, OSError):
        answer.update(call(leased, machine.limit(4, 0.3)))  # the directory cannot be identified
    if answer["leased"]:
        return answer
    for action in machine.request["terminations"]:
        result, has_handle = terminate(machine, action)
        answer["results"].append(dict({"number": action["number"], "uid": None, "environ": None, "stat": None}, **result))
        answer["handles"] = answer["handles"] if has_handle else "comparison"
    if machine.request["detach"]:
        answer["lock"], answer["detached"] = detach(machine, machine.request["detach"])
    return answer
