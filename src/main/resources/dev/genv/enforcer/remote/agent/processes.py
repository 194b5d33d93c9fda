"""Processes whose memory may not be readable for ever."""
LARGEST_ARGUMENTS = 64 << 10  # a kernel names its file in the first few hundred bytes
MOST_STUCK, MOST_STUCK_OF_A_USER = 64, 8
READING_TIME = 4  # seconds: ReadingOrder of the service gives the reason
MOST_KERNELS = 10000  # users choose their number
LONGEST_NAME = 255  # bytes of a file's name
LARGEST_KERNELS = 1 << 20  # of the answer
NO_TIME = failed("NO_TIME", "no time was left to wait for its answer")


class Memories:
    """Reads what the kernel takes from the memory of processes, which can keep it from answering for ever.

    The next process is always one of the owner whose processes took the least time so far: what one owner has too much
    of delays only that owner's processes.
    """

    def __init__(self, machine, stop, patience=0.5, most_children=Children.MOST_OF_SEARCHES):
        """patience: after this time (s) in all, it waits only shortly for each further process."""
        self.machine, self.stop, self.patience, self.most_children = machine, stop, patience, most_children
        self.waited, self.abandoned = 0, 0  # the time (s) for processes that did not answer, and their number
        self.stuck, self.spent = {}, {}  # by owner: the number of processes that do not answer, and the time (s) of all
        self.failures, self.uids = {}, {}  # by pid

    def read(self, pids, task):
        """Executes a task for each process, one after the other, and returns what each yields, merged."""
        values, pending = {pid: {} for pid in pids}, self.with_share(pids)
        while pending and time.monotonic() < self.stop and self.abandoned < MOST_STUCK:
            try:
                child = Call(self.tasks(self.queues(pending), task), self.most_children)
            except OSError as error:  # such as too many processes
                self.failures.update((pid, failed("NO_TIME", error.strerror)) for pid in pending)
                return values
            with child:
                pending = self.collect_all(child, pending, values)
        self.failures.update((pid, NO_TIME) for pid in pending)
        return values

    def queues(self, pids):
        """Returns the processes of each owner, the next one last."""
        queues = {}
        for pid in pids:
            queues.setdefault(self.owner(pid), []).insert(0, pid)
        return queues

    def tasks(self, queues, task):
        """Yields a task for each process, which tells the pid first. The child executes this."""
        while queues:
            owner = min(queues, key=lambda each: self.spent.get(each, 0))
            pid = queues[owner].pop()
            if not queues[owner]:
                del queues[owner]
            start = time.monotonic()
            yield lambda: itertools.chain([{"pid": pid}], task(pid))
            self.charge(pid, start)

    def charge(self, pid, start):
        """Adds the time since then to what the owner of a process has spent, and returns it."""
        seconds = time.monotonic() - start
        self.spent[self.owner(pid)] = self.spent.get(self.owner(pid), 0) + seconds
        return seconds

    def collect_all(self, child, pending, values):
        """Returns the processes that remain when one does not answer: it hangs the child too."""
        try:
            while pending and time.monotonic() < self.stop:
                is_patient = self.waited < self.patience
                pid = child.part(self.stop)["pid"]
                del pending[pid]
                if not self.collect(child, pid, values[pid], 1 if is_patient else 0.05):
                    self.leave(pid, is_patient)
                    return self.with_share(pending)
        except NoAnswer:
            pass  # the time is over
        return pending

    def collect(self, child, pid, value, seconds):
        start = time.monotonic()
        try:
            for part in child.parts(seconds):
                value.update(part)
            self.charge(pid, start)
            return True
        except NoAnswer:
            self.waited += self.charge(pid, start)
            return False

    def uid(self, pid):
        if pid not in self.uids:
            self.uids[pid] = reading(self.machine.uid, pid).get("value", 0)
        return self.uids[pid]

    def owner(self, pid):
        return account_of(self.machine, self.uid(pid))

    def leave(self, pid, is_patient):
        """After a short wait it is unknown whether a process hangs."""
        self.failures[pid] = failed("TIMEOUT", "it does not answer") if is_patient else NO_TIME
        self.abandoned += 1
        self.add_stuck(pid)

    def add_stuck(self, pid):
        self.stuck[self.owner(pid)] = self.stuck.get(self.owner(pid), 0) + 1

    def with_share(self, pids):
        """Returns the processes, as keys, without those of owners of whom too many hang."""
        allowed = {}
        for pid in pids:
            if time.monotonic() > self.stop:
                self.failures[pid] = NO_TIME
            elif self.stuck.get(self.owner(pid), 0) < MOST_STUCK_OF_A_USER:
                allowed[pid] = None
            else:
                self.failures[pid] = failed("NO_TIME", "%d other processes of its user hang" % MOST_STUCK_OF_A_USER)
        return allowed


def account_of(machine, uid):
    """Returns the uid of the account to which a subordinate uid belongs; another uid is returned unchanged."""
    ranges = machine.request["subordinates"]
    number = bisect.bisect(ranges, [uid, float("inf")])
    first, count, owner = ranges[number - 1] if number else (0, 0, 0)
    return owner if uid - first < count else uid


def process_facts(machine, pids):
    """Returns ProcessFacts of these processes."""
    memories = Memories(machine, time.monotonic() + machine.limit(READING_TIME, 0.22), READING_TIME, Children.MOST)
    skipped = set(machine.request["skip"]).intersection(pids)
    for pid in skipped:
        memories.add_stuck(pid)
    first = [pid for pid in machine.request["first"] if pid in pids]
    order = [pid for pid in dict.fromkeys(first + pids) if pid not in skipped]
    values = memories.read(order, machine.process)
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


def liveness_facts(machine, readings):
    """Returns LivenessFacts: which of all numbers in the readings of envs.json are processes, and which kernels run."""
    content = b" ".join(binascii.a2b_base64(envs.get("present", {"content": ""})["content"]) for envs in readings)
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
    return {"pid": pid, "uid": None if time.monotonic() > stop else reading(machine.uid, pid).get("value")}


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

    memories = Memories(machine, time.monotonic() + machine.limit(2, 0.05), 4)
    values = memories.read(pids, task)
    memories.failures.update((pid, value["missing"]) for pid, value in values.items() if "missing" in value)
    files = {file for value in values.values() for file in value.get("files", [])}
    if len(files) > MOST_KERNELS:
        return {"files": [], "unsearched": "more than %d processes or arguments look like kernels" % MOST_KERNELS}
    if len(to_json(sorted(files))) > LARGEST_KERNELS:
        return {"files": [], "unsearched": "processes or arguments that look like kernels have too long names"}
    texts = {"TIMEOUT": "reading its arguments hangs", "NO_TIME": "the search reached its limit"}
    unsearched = ["process %d of uid %d: %s" % (pid, memories.uid(pid), texts.get(
        why["failure"], "its arguments cannot be read: " + why["reason"]))
                  for pid, why in itertools.islice(memories.failures.items(), 1)]
    if len(memories.failures) > 1:
        unsearched.append(" (and %d more)" % (len(memories.failures) - 1))
    return {"files": sorted(files), "unsearched": "".join(unsearched)}
