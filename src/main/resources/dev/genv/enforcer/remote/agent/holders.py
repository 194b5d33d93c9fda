"""Processes that hold device files of GPUs although nvidia-smi does not list them."""
MOST_FOUND, MOST_GPUS, LARGEST_INFORMATION = 256, 64, 4096
KERNEL_THREAD = 0x00200000
LATE = "the time for the search was used up"


def gpu_information(machine):
    """Yields what the driver says of each GPU; nothing if it is not loaded."""
    folder = machine.path("driver", "nvidia/gpus")
    try:
        names = sorted(os.listdir(folder))[:MOST_GPUS]
    except FileNotFoundError:
        names = []
    yield {"gpus": [read_file("%s/%s/information" % (folder, name), LARGEST_INFORMATION) for name in names]}


def holder_candidates(machine, listed, memories):
    """Returns the pids: the newest process of every user, then the second newest, and so on."""
    processes, now = [], time.monotonic()
    half = now + (memories.stop - now) / 2  # the other half is for the files of the processes
    # The largest pids are mostly the newest, so a partial list has the newest of each user.
    for pid in sorted(machine.pids(), reverse=True):
        if time.monotonic() > half:
            memories.failures[pid] = NO_TIME
        elif pid not in listed and pid != os.getpid():
            now = machine.stat_fields(pid)
            if now[19] and not has_exited(now) and not int(now[6]) & KERNEL_THREAD:
                processes.append((int(now[19]), pid))
    return in_turns([pid for _, pid in sorted(processes, reverse=True)], memories.owner)


def holder_facts(machine, listed):
    """Returns HolderFacts."""
    facts = {"gpus": [], "holders": [], "incomplete": ""}
    if not machine.request["deviceHolders"]:
        return facts
    seconds = machine.search_limit()
    memories = Memories(machine, time.monotonic() + seconds)  # a user can have several processes that do not answer
    try:
        call(lambda: gpu_information(machine), max(seconds, 0.2), facts)
        majors = majors_of(machine, GPU_DRIVERS)
    except NoAnswer:
        return dict(facts, incomplete="the driver does not answer")
    except OSError as error:
        return dict(facts, incomplete=error.strerror)
    if not majors:
        return facts
    pids = holder_candidates(machine, listed, memories)
    values = memories.read(pids, DeviceFiles(machine, majors, True).gpus)
    found = [pid for pid in pids if values[pid].get("minors")]
    reasons = ["more than %d processes hold GPUs" % MOST_FOUND] if len(found) > MOST_FOUND else []
    reasons += [value["unexamined"] for value in values.values() if value.get("unexamined")]
    reasons += ["a process does not answer" if why["failure"] == "TIMEOUT" else LATE
                for why in memories.failures.values()]
    facts["incomplete"] = reasons[0] if reasons else ""
    facts["holders"] = [{"process": process, "minors": values[process["pid"]]["minors"],
                         "mapped": values[process["pid"]]["mapped"]}
                        for process in process_facts(machine, found[:MOST_FOUND])]
    return facts
