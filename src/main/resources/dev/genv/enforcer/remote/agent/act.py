"""Signals processes and replaces devices.json: the service decides, and here is only compared."""
PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434  # of syscall(2) on every architecture
TEMPORARY = ".devices.json.genv-enforcer-"
MOST_NAMES = 10000  # users choose the number of files
SWAP = 0  # stands for the replacement of devices.json among the pids that are announced
LATE = "abandoned: the execution took too long"


def open_handle(pid):
    """Returns a pidfd, or None if this system has none. Raises ProcessLookupError if the process does not exist."""
    try:
        return library_call("syscall", PIDFD_OPEN, pid, 0)
    except OSError as error:
        # The number of a thread, or of a process group whose leader has exited: ENOENT since Linux 6.15, EINVAL before.
        if error.errno in (errno.ENOENT, errno.EINVAL):
            raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
        return None


def is_late(machine):
    """Whether the rules were checked so long ago that their result may be another one now."""
    request = machine.request
    return machine.ticks() > request["deadline"] or time.monotonic() > machine.finish or machine.boot != request["boot"]


def begin(machine, number):
    """Announces an action directly before it: if the answer is lost, all others were not executed."""
    write(1, b"@%s begun %d\n" % (machine.request["nonce"].encode(), number))


def send_signals(machine):
    """Sends signals, each only to the process that was observed, and only while it uses the driver."""
    orders = {order["process"]["pid"]: order for order in machine.request.pop("signals")}  # a child gets the rest of the request
    other, results, has_pidfd = other_service(machine), [], True
    reader = ProcessReader(machine, machine.limit(READING_TIME, 0.5), (READING_TIME, READING_TIME), MOST_CHILDREN)
    uses = {} if other else device_uses(reader, orders)
    reader.renew(machine.limit(READING_TIME, 0.1))
    for pid in reader.in_turns(orders):
        handle, kind, reason = None, "NOT_SENT", other
        try:
            if not other:
                handle = open_handle(pid)
                has_pidfd = has_pidfd and handle is not None
                kind, reason = send_signal(machine, orders[pid], handle, uses[pid], reader)
        except OSError as error:
            kind = "GONE" if error.errno in (errno.ESRCH, errno.ENOENT) else "NOT_SENT"
            reason = error.strerror or ""
        finally:
            if handle is not None:
                os.close(handle)
        results.append({"pid": pid, "result": {"kind": kind, "reason": reason}})
    return {"hasPidfd": has_pidfd, "signals": results}


def send_signal(machine, order, handle, use, reader):
    """Returns the kind and the reason of a SignalResult."""
    pid, number = order["process"]["pid"], signal.SIGKILL if order["kill"] else signal.SIGTERM
    found = reader.facts([pid], reader.read([pid], machine.identity))[0]["after"]
    if "failure" in found:
        return "GONE" if found["failure"] == "ABSENT" else "UNEXAMINED", found["reason"]
    now = fields(found["value"])
    if not now[17].isdigit() or not now[19].isdigit():
        return "NOT_SENT", "stat has an unknown form"
    # If it still has its pid, it had that when the pidfd was opened and its files were examined.
    if int(now[19]) != order["process"]["startTime"] or (has_exited(now) and int(now[17]) <= 1):
        return "GONE", ""
    if not use["isProven"]:
        return ("UNEXAMINED", use["unexamined"]) if use["unexamined"] else ("WITHOUT_DEVICE", "")
    if is_late(machine):
        return "NOT_SENT", LATE
    begin(machine, pid)
    try:
        if handle is None:
            os.kill(pid, number)
        else:
            library_call("syscall", PIDFD_SEND_SIGNAL, handle, number, None, 0)
    except PermissionError as error:
        return "DENIED", error.strerror
    return "SENT", ""


def swap_devices(machine):
    """Replaces devices.json if it is still the file from which the new one was made."""
    other = other_service(machine)
    return {"swap": not_written(other) if other else swap(machine)}


def not_written(reason):
    return {"notWritten": {"reason": reason}}


def swap(machine):
    """Returns a SwapResult."""
    if is_late(machine):
        return not_written(LATE)
    lock_seconds = machine.limit(machine.request["lockTimeout"], 0.05)
    seconds, has_begun, result = machine.limit(lock_seconds + 4, 0.02), False, None
    try:
        with execute(replace_devices, machine, lock_seconds) as child:
            for result in child.parts(seconds):
                if result == BEGUN:
                    has_begun = True
                    begin(machine, SWAP)
                    child.channel.sendall(b"!")
        if "locked" in result:
            add_holders(machine, result["locked"]["lock"], 0)
        return result
    except NoAnswer:
        why = "the state directory does not answer: there was no answer within %d ms" % (seconds * 1000)
    except Bug as error:
        why = "the agent failed: %s" % error
    except OSError as error:
        return {"inaccessible": {"directory": unreadable(error.strerror)}}
    return {"perhaps": {"reason": why}} if has_begun else not_written(why)


def replace_devices(machine, lock_seconds):
    """Yields the result, and before it that the replacement is about to begin. A child process executes it."""
    directory, problem = open_state(machine)
    if directory is None:
        yield {"inaccessible": {"directory": problem}}
        return
    if stamp_in(directory, DEVICES) is None:
        yield {"found": {"file": {"absent": {}}}}
        return
    new_content = binascii.a2b_base64(machine.request["content"])
    if len(new_content) > LARGEST_STATE_FILE:
        yield not_written("devices.json would become larger than %d bytes" % LARGEST_STATE_FILE)
        return
    lock = GenvLock(directory, lock_seconds, True)
    if not lock.take():
        yield {"locked": {"lock": lock.facts(machine)}}
        return
    remove_leftovers(directory)
    before = stamp_in(directory, DEVICES)
    file = state_file(directory, DEVICES)
    if sha256(content_of(file)) != machine.request["digest"]:
        yield {"found": {"file": file}}
        return
    name = TEMPORARY + binascii.hexlify(os.urandom(8)).decode()
    try:
        new = open_in(directory, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        os.fchmod(new, 0o666)  # independent of the umask
        write(new, new_content)
        os.fsync(new)
        yield BEGUN
        # As late as possible: what others write without the lock must not be lost.
        if not is_late(machine) and lock.is_in_place() and stamp_in(directory, DEVICES) == before:
            os.rename(name, DEVICES, src_dir_fd=directory, dst_dir_fd=directory)
            yield {"done": {}}
            return
        yield {"disturbed": {}}
    except OSError as error:
        yield not_written("the new devices.json cannot be written: %s" % error.strerror)
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


def take(machine, is_identified):
    yield {"other": lease(machine, open_state(machine)[0] if is_identified else None)}


def other_service(machine):
    """Returns which service acts on this machine instead of this one, as a clause; otherwise this one takes or keeps the lease."""
    try:
        other = call(execute(take, machine, True), machine.limit(4, 0.5))["other"]
    except (NoAnswer, OSError):
        other = call(execute(take, machine, False), machine.limit(4, 0.3))["other"]  # the directory cannot be identified
    return other and ("another service acted on this host %(secondsAgo)d s ago: observing only until its lease expires, "
                      "in %(secondsLeft)d s" % other["leased"])
