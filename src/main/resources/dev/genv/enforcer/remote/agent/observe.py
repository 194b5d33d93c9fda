"""Gathers the facts of a machine."""
ENFORCER_LOCK = ".genv-enforcer.lock"
LARGEST_ANSWER = 15 << 20  # the recipient accepts 16 MiB, with what the login prints
LARGEST_LIVENESS = 2 << 20
LONGEST_USUAL_ID = 256
TOO_LONG = failed("OTHER", "the answer would be too long")
DIRECTORY_FACTS = {"isWritable": True, "enforcer": None, "leased": None}


def read_state(machine, directory, seconds):
    """Returns LockFacts and both state files as they were at one moment."""
    lock = GenvLock(directory, seconds, False)
    while machine.request["acts"] and lock.take():
        facts, files = lock.facts(machine), [state_file(directory, name) for name in (ENVS, DEVICES)]
        is_complete = lock.file is not None or stamp_in(directory, LOCK) is None
        lock.release()
        if is_complete:
            return facts, files
        # Somebody has created the lock, and may have written.
        lock.outcome, lock.reason = "UNUSABLE", "is created and removed repeatedly"
        if time.monotonic() >= lock.stop:
            break
    return lock.facts(machine) if machine.request["acts"] else NOT_ATTEMPTED, read_unlocked(directory)


def read_at_once(directory):
    """Reads both files without the lock; None if one is being written.

    Nobody knows when a cycle begins, and no event (inotify) shows it before both files are open.
    """
    descriptors = [reading(open_in, directory, name).get("value") for name in (ENVS, DEVICES)]
    files = [state_file(directory, name, descriptor) for name, descriptor in zip((ENVS, DEVICES), descriptors)]
    return files if are_whole(files) else None


def are_whole(files):
    return all("absent" in file or is_whole(content_of(file)) for file in files)


def is_whole(content):
    """Whether all objects and texts of a file end, so that no program is writing it."""
    parts = content.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
    outside = b"".join(parts[::2])
    counts = [outside.count(bracket) for bracket in (b"{", b"}", b"[", b"]")]
    return len(parts) % 2 == 1 and counts[0] == counts[1] > 0 and counts[2] == counts[3]


def read_unlocked(directory):
    """Reads both files without the lock. genv writes in place, so only what is whole and unchanged for a while counts."""
    def versions():
        return [(stamp_in(directory, name), state_file(directory, name), stamp_in(directory, name)) for name in (ENVS, DEVICES)]

    earlier, stop = versions(), time.monotonic() + 1
    while True:
        time.sleep(0.05)
        now = versions()
        files = [version[1] if version == former and version[0] == version[2] else refused("CHANGES_WITHOUT_LOCK")
                 for version, former in zip(now, earlier)]
        if are_whole(files) or time.monotonic() > stop:
            return files
        earlier = now


def other_enforcer(machine, directory):
    """Returns OnMachine if an enforcer acts here from the machine itself."""
    try:
        file = open_in(directory, ENFORCER_LOCK)
        status = os.fstat(file)
        is_private = stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600 and status.st_nlink == 1
        # It names its directory: a user may have moved the file of another directory here.
        expected = b"genv-enforcer of directory %d\n" % os.fstat(directory).st_ino
        if not is_private or status.st_uid != os.geteuid() or read(file, 64) != expected:
            return None
        pids = [pid for pid in machine.holders(status) if pid > 0]
        ours = [pid for pid in pids if reading(machine.uid, pid).get("value") == os.geteuid()]
        return {"onMachine": {"pid": ours[0]}} if ours else None
    except OSError:
        return None


def observe_state(machine, seconds, is_last):
    """Yields StateFacts and, in the last reading, what else depends on the directory. A child process executes it."""
    directory, problem = open_state(machine, os.O_RDONLY if is_last else os.O_PATH)
    if directory is None:
        yield {"directory": problem}
    else:
        status = os.fstat(directory)
        yield {"isWritable": os.access(".", os.W_OK, dir_fd=directory)}
        yield MAY_HANG
        if machine.request["acts"] and is_last:
            yield {"enforcer": other_enforcer(machine, directory)}
            yield MAY_HANG
        lock, files = NOT_ATTEMPTED, None if is_last else read_at_once(directory)
        if not files:
            lock, files = read_state(machine, directory, seconds)
        now = stamp_in(None, machine.state)
        if now is None or now[:2] != stamp(status)[:2]:
            yield {"directory": unreadable("is replaced while it is read")}
        else:
            identity = {"device": status.st_dev, "inode": signed(status.st_ino)}
            born = kernel_status("", directory, AT_EMPTY_PATH)[2]
            yield {"directory": {"present": {"id": identity, "born": born}}, "lock": lock, "envs": files[0], "devices": files[1]}
    if machine.request["acts"] and is_last:
        yield MAY_HANG
        yield {"leased": lease(machine, directory)}


def state_facts(machine, lock_seconds, spare, is_last):
    """Returns StateFacts, and what else depends on the state directory. For the rest this part of the budget is left."""
    known = dict(DIRECTORY_FACTS, lock=NOT_ATTEMPTED, envs={"absent": {}}, devices={"absent": {}})
    seconds = machine.limit(lock_seconds + 4, spare)
    try:
        call(execute(observe_state, machine, lock_seconds, is_last), seconds, known)
    except NoAnswer:
        why, mount = "there was no answer within %d ms" % (seconds * 1000), mount_of(machine.mounts(), machine.state)
        if mount:
            why += "; it is in a file system of the type %s that is mounted on %s" % (mount[1], text(mount[0]))
        known["directory"] = unreadable(why, "TIMEOUT")
    except OSError as error:
        known["directory"] = unreadable(error.strerror, failure(error)["failure"])
    add_holders(machine, known["lock"], spare)
    return {key: known.pop(key) for key in ("directory", "lock", "envs", "devices")}, known


def last_state(machine, earlier):
    """Returns the earlier StateFacts if they differ, the present ones, and what else depends on the directory."""
    if earlier["directory"].get("unreadable", {}).get("failure") == "TIMEOUT":
        return None, earlier, DIRECTORY_FACTS
    left = max(machine.request["lockTimeout"] - (earlier["lock"]["waited"] or 0), 0)
    facts, directory = state_facts(machine, min(left, machine.limit(left, 0.28)), 0.11, True)
    if facts["lock"]["waited"] is not None and earlier["lock"]["waited"] is not None:
        facts["lock"].update(waited=facts["lock"]["waited"] + earlier["lock"]["waited"], limit=earlier["lock"]["limit"])
    is_same = all(facts[key] == earlier[key] for key in ("directory", "envs", "devices"))
    return None if is_same else earlier, facts, directory


def access_facts(machine, is_writable):
    """Returns AccessFacts."""
    capabilities = reading(machine.status, "self", b"CapEff").get("value", b"0")
    namespace = reading(os.readlink, machine.path("self", "ns/pid")).get("value", "")
    label = first_line(machine.path("self", "attr/apparmor/current"), machine.path("self", "attr/current"))
    return {"pid": os.getpid(), "capabilities": signed(int(capabilities, 16)),
            "pidNamespace": namespace, "securityLabel": label, "stateIsWritable": is_writable}


def observe(machine):
    """Returns HostFacts. The state is read again after the processes: the environment of a new one is not missing then."""
    request, etc = machine.request, machine.request["etc"]
    # Before anything else, so that a change during the run of the GPU tool changes nothing.
    earlier, _ = state_facts(machine, machine.limit(request["lockTimeout"], 0.72), 0.62, False)
    ids = [etc + "/machine-id", os.path.dirname(etc) + "/var/lib/dbus/machine-id"]
    facts = {"machine": {"machineId": first_line(*ids), "bootId": machine.boot,
                         "driver": first_line(machine.path("driver", "nvidia/version")), "cgroupRoot": reading(machine.cgroup_root)},
             "accounts": {name: reading(text_file, etc + "/" + name, request["omitted"][name]) for name in ("passwd", "subuid")},
             "programs": [reading(program_file, path) for path in request["programs"]]}
    facts["accounts"].update(configured=lookups(machine, request["users"], uid_of, 0.6),
                             groups=lookups(machine, request["groups"], number_of, 0.6),
                             memberships=lookups(machine, request["members"], groups_of, 0.6))
    facts["machine"]["beforeListing"] = machine.ticks()
    facts["gpu"], pids, tool_hangs = gpu_facts(machine)
    facts["processes"] = process_facts(machine, sorted(pids))
    facts["accounts"].update(account_facts(machine, etc + "/passwd", facts["processes"]))
    facts["ancestors"] = ancestor_facts(machine, facts["processes"])
    facts["machine"]["beforeState"] = machine.ticks()
    facts["earlierState"], facts["state"], directory = last_state(machine, earlier)
    facts["access"] = access_facts(machine, directory["isWritable"])
    readings = [each["envs"] for each in (facts["earlierState"], facts["state"]) if each]
    facts["liveness"], arguments_hang = liveness_facts(machine, readings, facts["processes"])
    facts["enforcers"] = {"other": directory["enforcer"] or directory["leased"], "unusable": ""}
    verified = identities(machine, {each["pid"] for each in request["verified"]}, 0.05)
    facts["verified"] = [{"pid": fact["pid"], "stat": fact["after"]} for fact in verified]
    facts["gpu"]["status"] = status_reading(machine, facts["gpu"])
    return {"facts": facts, "toolHangs": tool_hangs, "argumentsHang": arguments_hang}


def shorten(facts):
    """Leaves out what makes an answer too long: users choose its length, and without an answer no rule acts."""
    def is_too_long():
        return len(to_json(facts)) > LARGEST_ANSWER

    facts["ancestors"] = []
    for part in ("uidMap", "cgroup"):
        for fact in facts["processes"] if is_too_long() else ():
            fact[part] = failed("SKIPPED")
    if is_too_long() and len(to_json(facts["liveness"])) > LARGEST_LIVENESS:
        facts["liveness"] = {"processes": TOO_LONG, "kernels": {"files": [], "unsearched": TOO_LONG["reason"]}}
    for fact in facts["processes"] if is_too_long() else []:
        if len(fact["environ"].get("value", {}).get("id", "")) > LONGEST_USUAL_ID:
            fact["environ"] = TOO_LONG
