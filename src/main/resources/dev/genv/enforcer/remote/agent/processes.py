"""Processes whose memory may not be readable for ever."""
LARGEST_ARGUMENTS = 64 << 10  # a kernel names its file in the first few hundred bytes
MOST_STUCK, MOST_STUCK_OF_A_USER = 64, 8
MOST_KERNELS = 10000  # users choose their number
LONGEST_NAME = 255  # bytes of a file's name
LARGEST_KERNELS = 1 << 20  # of the answer
NO_TIME = failed("NO_TIME", "no time was left to wait for its answer")


class Memories:
    """Reads what the kernel takes from the memory of processes, which can keep it from answering for ever."""

    def __init__(self, machine, stop, patience=4):
        """patience: after this time (s) in all, it waits only shortly for each further process."""
        self.machine, self.stop, self.patience = machine, stop, patience
        self.waited = 0  # seconds, for processes that did not answer
        self.stuck = {}  # the number of these processes, by uid
        self.failures, self.owners = {}, {}  # by pid

    def read(self, pids, task):
        """Executes a task for each process, one after the other, and returns what each yields, merged."""
        values, pending = {pid: {} for pid in pids}, list(pids)
        while pending and time.monotonic() < self.stop and sum(self.stuck.values()) < MOST_STUCK:
            try:
                child = Call([lambda pid=pid: task(pid) for pid in pending])
            except OSError as error:  # such as too many processes
                self.failures.update((pid, failure(error)) for pid in pending)
                return values
            with child:
                pending = self.collect_all(child, pending, values)
        self.failures.update((pid, NO_TIME) for pid in pending)
        return values

    def collect_all(self, child, pending, values):
        """Returns the processes that remain when one does not answer: it hangs the child too."""
        answers = True
        while pending and answers and time.monotonic() < self.stop:
            is_patient = self.waited < self.patience
            answers = self.collect(child, values[pending[0]], 1 if is_patient else 0.05)
            pid = pending.pop(0)
            if not answers:
                self.leave(pid, is_patient)
                pending = [other for other in pending if not self.has_used_up_share(other)]
        return pending

    def collect(self, child, value, seconds):
        start = time.monotonic()
        try:
            for part in child.parts(seconds):
                value.update(part)
            return True
        except NoAnswer:
            self.waited += time.monotonic() - start
            return False

    def owner(self, pid):
        if pid not in self.owners:
            self.owners[pid] = reading(self.machine.uid, pid).get("value", 0)
        return self.owners[pid]

    def leave(self, pid, is_patient):
        """After a short wait it is unknown whether a process hangs."""
        self.failures[pid] = failed("TIMEOUT", "it does not answer") if is_patient else NO_TIME
        self.stuck[self.owner(pid)] = self.stuck.get(self.owner(pid), 0) + 1

    def has_used_up_share(self, pid):
        """Whether too many processes of the same user hang. Root may be several users, in containers."""
        if self.owner(pid) == 0 or self.stuck.get(self.owner(pid), 0) < MOST_STUCK_OF_A_USER:
            return False
        self.failures[pid] = failed("NO_TIME", "%d other processes of its user hang" % MOST_STUCK_OF_A_USER)
        return True


def process_facts(machine, pids, programs):
    """Returns ProcessFacts of these processes."""
    memories = Memories(machine, machine.finish - 0.22 * machine.request["budget"])
    skipped = set(machine.request["skip"])
    values = memories.read([pid for pid in pids if pid not in skipped], lambda pid: machine.process(pid, programs))
    return merged(machine, pids, values, memories.failures)


def merged(machine, pids, values, failures):
    """Returns ProcessFacts: the values, and for each missing one the reason."""
    facts = []
    for pid in pids:
        fact = values.get(pid, {})
        missing = fact.pop("missing", failures.get(pid, failed("SKIPPED")))
        for key, read_now in (("before", machine.stat_text), ("uid", machine.uid), ("after", machine.stat_text)):
            if key not in fact:
                fact[key] = missing if missing["failure"] == "ABSENT" else reading(read_now, pid)
        known = dict(environ=missing, executable=missing, cgroup=failed("SKIPPED"), namespacePids=failed("SKIPPED"))
        facts.append(dict(known, pid=pid, **fact))
    return facts


def liveness_facts(machine, envs):
    """Returns LivenessFacts: which of all numbers in envs.json are processes, and which kernels run."""
    content = binascii.a2b_base64(envs.get("present", {"content": ""})["content"])
    kernels = {"files": [], "unsearched": ""}
    try:
        pids = {b"%d" % pid: pid for pid in machine.pids()}
    except OSError as error:
        return {"processes": failure(error), "kernels": kernels}
    digits_and_blanks = content.translate(bytes(each if chr(each) in "0123456789" else 32 for each in range(256)))
    listed = set(digits_and_blanks.split()).intersection(pids)
    stop = time.monotonic() + machine.limit(2, 0.08)
    processes = [live_process(machine, pids[pid], stop) for pid in sorted(listed, key=int)]
    dense = content.translate(None, b" \t\r\n")
    # Escapes may hide the name of the field; then the search may be unnecessary.
    if dense.count(b'"kernel_ids":[') > dense.count(b'"kernel_ids":[]') or b"\\" in content:
        if machine.request["skipKernels"]:
            kernels["unsearched"] = "reading the arguments of a process hung in an earlier observation"
        else:
            wanted = None if b"\\" in content else set(content.split(b'"'))
            kernels = find_kernels(machine, sorted(pids.values()), wanted)
    return {"processes": {"value": processes}, "kernels": kernels}


def live_process(machine, pid, stop):
    """Returns LiveProcess. After that time only its existence is known: users choose the number of pids in envs.json."""
    if time.monotonic() > stop:
        return {"pid": pid, "uid": None, "startTime": None}
    start = fields(reading(machine.stat, pid).get("value", b""))[19]
    return {"pid": pid, "uid": reading(machine.uid, pid).get("value"), "startTime": int(start) if start else None}


def find_kernels(machine, pids, wanted):
    """Returns Kernels: the connection files of Jupyter kernels that arguments of these processes end in.

    wanted: the kernels of interest, among other texts; None if all are.
    """
    def task(pid):
        result = reading(read_file, machine.path(pid, "cmdline"), LARGEST_ARGUMENTS)
        if result.get("failure", "ABSENT") != "ABSENT":
            yield {"missing": result}
        content = result.get("value", b"")
        arguments = content.split(b"\0")
        complete = arguments[:-1] if len(content) == LARGEST_ARGUMENTS else arguments
        names = {argument.replace(b"=", b"/").rpartition(b"/")[2] for argument in complete}
        files = [name for name in names if name.startswith(b"kernel-") and name.endswith(b".json")]
        files = [file for file in files if len(file) <= LONGEST_NAME]
        files = [file for file in files if wanted is None or file[7:-5] in wanted]
        yield {"files": [file.decode("utf-8", "replace") for file in files[:MOST_KERNELS + 1]]}

    memories, turns = Memories(machine, time.monotonic() + machine.limit(2, 0.05)), {}
    order = []
    for pid in pids:
        if time.monotonic() > memories.stop:
            memories.failures[pid] = NO_TIME
            continue
        uid = memories.owner(pid)
        turns[uid] = turns.get(uid, 0) + 1
        order.append((turns[uid], pid))
    # One process of each user, then the next ones: the many processes of one user do not use up the time.
    values = memories.read([pid for _, pid in sorted(order)], task)
    memories.failures.update((pid, value["missing"]) for pid, value in values.items() if "missing" in value)
    files = {file for value in values.values() for file in value.get("files", [])}
    if len(files) > MOST_KERNELS:
        return {"files": [], "unsearched": "more than %d processes or arguments look like kernels" % MOST_KERNELS}
    if len(to_json(sorted(files))) > LARGEST_KERNELS:
        return {"files": [], "unsearched": "processes or arguments that look like kernels have too long names"}
    texts = {"TIMEOUT": "reading its arguments hangs", "NO_TIME": "the search reached its limit"}
    unsearched = ["process %d of uid %d: %s" % (pid, memories.owner(pid), texts.get(
        why["failure"], "its arguments cannot be read: " + why["reason"]))
                  for pid, why in itertools.islice(memories.failures.items(), 1)]
    if len(memories.failures) > 1:
        unsearched.append(" (and %d more)" % (len(memories.failures) - 1))
    return {"files": sorted(files), "unsearched": "".join(unsearched)}
