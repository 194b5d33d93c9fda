"""Processes whose memory may not be readable for ever."""
LARGEST_ARGUMENTS = 64 << 10  # a kernel names its file in the first few hundred bytes
MOST_STUCK, MOST_STUCK_OF_A_USER = 64, 8
READING_TIME = 4  # seconds: ProcessReader of the service gives the reason
MOST_KERNELS = 10000  # users choose their number
DIGITS_AND_BLANKS = bytes(each if chr(each) in "0123456789" else 32 for each in range(256))
LONGEST_NAME = 255  # bytes of a file's name
LARGEST_KERNELS = 1 << 20  # of the answer
NO_TIME = failed("NO_TIME", "no time was left to wait for its answer")


class Memories:
    """Reads what the kernel takes from the memory of processes, which can keep it from answering for ever.

    The next process is always one of the owner whose processes took the least time so far: what one owner has too much
    of delays only that owner's processes.
    """

    def __init__(self, machine, stop, patience=0.5, most_children=MOST_OF_SEARCHES):
        """patience: after this time (s) in all, it waits only shortly for each further process."""
        self.machine, self.stop, self.patience, self.most_children = machine, stop, patience, most_children
        self.waited, self.abandoned = 0, 0  # the time (s) for processes that did not answer, and their number
        # By owner: the number of processes that do not answer, and the time (s) of all.
        self.stuck, self.spent = collections.Counter(), collections.Counter()
        self.failures, self.uids = {}, {}  # by pid

    def read(self, pids, task, *arguments):
        """Executes a task, a function of a pid and these arguments, for each process, and returns what each yields, merged."""
        values, pending, why = {pid: {} for pid in pids}, self.with_share(pids), NO_TIME
        while pending and time.monotonic() < self.stop and self.abandoned < MOST_STUCK:
            try:
                child = execute(self.tasks, list(pending), task, arguments, most=self.most_children)
            except OSError as error:  # such as too many processes
                why = failed("NO_TIME", error.strerror)
                break
            with child:
                pending = self.collect(child, pending, values)
        self.failures.update((pid, why) for pid in pending)
        return values

    def tasks(self, pids, task, arguments):
        """Yields each pid and its owner, and then what the task yields for that process. A child process executes this."""
        queues = {}
        for pid in pids:
            queues.setdefault(self.owner(pid), collections.deque()).append(pid)
        while queues:
            owner = min(queues, key=self.spent.__getitem__)
            pid = queues[owner].popleft()
            if not queues[owner]:
                del queues[owner]
            start = time.monotonic()
            yield pid, owner
            yield from task(pid, *arguments)
            self.charge(owner, start)
            if queues:
                yield None

    def charge(self, owner, start):
        """Adds the time since then to what an owner has spent, and returns it."""
        seconds = time.monotonic() - start
        self.spent[owner] += seconds
        return seconds

    def collect(self, child, pending, values):
        """Returns the processes that remain when one does not answer: it hangs the child too."""
        while pending and time.monotonic() < self.stop:
            try:
                pid, owner = child.part(self.stop)
            except NoAnswer:
                break  # the time is over
            del pending[pid]
            is_patient, start = self.waited < self.patience, time.monotonic()
            try:
                child.merge(values[pid], 1 if is_patient else 0.05)
                self.charge(owner, start)
            except NoAnswer:
                self.waited += self.charge(owner, start)
                self.abandoned += 1
                self.stuck[owner] += 1
                # After a short wait it is unknown whether a process hangs.
                self.failures[pid] = failed("TIMEOUT", "it does not answer") if is_patient else NO_TIME
                return self.with_share(pending)
        return pending

    def uid(self, pid):
        """Returns the real uid of a process; None if it is unknown."""
        if pid not in self.uids:
            self.uids[pid] = reading(self.machine.uid, pid).get("value")
        return self.uids[pid]

    def owner(self, pid):
        """Returns the uid of a process or, if it is a subordinate uid, that of the account to which it belongs; None if unknown."""
        uid = self.uid(pid)
        return None if uid is None else self.machine.owner_of(uid)

    def with_share(self, pids):
        """Returns the processes, as keys, without those of owners of whom too many hang."""
        allowed = {}
        for pid in pids:
            if time.monotonic() > self.stop:
                self.failures[pid] = NO_TIME
            elif not self.stuck or self.stuck[self.owner(pid)] < MOST_STUCK_OF_A_USER:
                allowed[pid] = None
            else:
                self.failures[pid] = failed("NO_TIME", "%d other processes of its user hang" % MOST_STUCK_OF_A_USER)
        return allowed

    def facts(self, pids, values, is_ancestor=False):
        """Returns ProcessFacts: the values that were read and, for each missing one, the reason."""
        facts = []
        for pid in pids:
            fact, missing = values.get(pid, {}), self.failures.get(pid, failed("SKIPPED"))
            if "before" not in fact:
                fact.update(self.machine.kernel_facts(pid, is_ancestor))
            if "after" not in fact:
                fact["after"] = reading(self.machine.stat, pid)
            known = dict.fromkeys(["uidMap", "cgroup", "parent"], failed("SKIPPED"))
            facts.append(dict(known, pid=pid, **dict({"environ": missing, "executable": missing}, **fact)))
        return facts


def in_turns(pids, user):
    """Returns one process of each user, then the next ones: the many processes of one user leave out no other user's."""
    counts, turns = collections.Counter(), {}
    for pid in pids:
        counts[user(pid)] += 1
        turns[pid] = counts[user(pid)]
    return sorted(pids, key=lambda pid: (turns[pid], pid))


def process_facts(machine, pids):
    """Returns ProcessFacts of these processes."""
    memories = Memories(machine, time.monotonic() + machine.limit(READING_TIME, 0.22), READING_TIME, MOST_CHILDREN)
    skipped = {each["pid"] for each in machine.request["omitted"]["processes"]}.intersection(pids)
    memories.stuck.update(map(memories.owner, skipped))
    wanted = set(pids) - skipped
    order = [pid for pid in dict.fromkeys(machine.request["first"] + pids) if pid in wanted]
    return memories.facts(pids, memories.read(order, machine.process))


def liveness_facts(machine, readings, observed):
    """Returns LivenessFacts, which of all numbers in the readings of envs.json are processes and which kernels run, and whether
    arguments of a process do not answer.
    """
    content = b" ".join(map(content_of, readings))
    kernels, hang = {"files": [], "unsearched": ""}, False
    try:
        pids = machine.pids()
    except OSError as error:
        return {"processes": failure(error), "kernels": kernels}, hang
    # What was just observed is not read again, unless the pid was used again meanwhile.
    starts = [[fields(fact[key].get("value", b""))[19] for key in ("before", "after")] for fact in observed]
    uids = {fact["pid"]: fact["uid"].get("value") for fact, (begin, end) in zip(observed, starts) if begin == end != b""}
    numbers = set(content.translate(DIGITS_AND_BLANKS).split())
    processes, stop = [], time.monotonic() + machine.limit(2, 0.08)
    for pid in sorted(map(int, numbers.intersection(b"%d" % pid for pid in pids))):
        if uids.get(pid) is None and time.monotonic() < stop:
            uids[pid] = reading(machine.uid, pid).get("value")
        # After that time only its existence is known: users choose the number of pids in envs.json.
        processes.append({"pid": pid, "uid": uids.get(pid)})
    dense = content.translate(None, b" \t\r\n")
    # Escapes may hide the name of the field; then the search may be unnecessary.
    if dense.count(b'"kernel_ids":[') > dense.count(b'"kernel_ids":[]') or b"\\" in content:
        if machine.request["omitted"]["kernels"]:
            kernels["unsearched"] = "reading the arguments of a process hung in an earlier observation"
        else:
            wanted = None if b"\\" in content else set(content.split(b'"'))
            kernels, hang = find_kernels(machine, sorted(pids), wanted)
    return {"processes": {"value": processes}, "kernels": kernels}, hang


def kernel_files(pid, machine, wanted):
    """Yields the connection files of Jupyter kernels that arguments of a process end in."""
    yield MAY_HANG
    result = reading(read_file, machine.path(pid, "cmdline"), LARGEST_ARGUMENTS)
    if result.get("failure", "ABSENT") != "ABSENT":
        yield {"missing": result}
    content = result.get("value", b"")
    arguments = content.split(b"\0")
    complete = arguments[:-1] if len(content) == LARGEST_ARGUMENTS else arguments
    names = {argument.replace(b"=", b"/").rpartition(b"/")[2] for argument in complete}
    files = [name for name in names if name.startswith(b"kernel-") and name.endswith(b".json")
             and len(name) <= LONGEST_NAME and (wanted is None or name[7:-5] in wanted)]
    yield {"files": [file.decode("utf-8", "replace") for file in files[:MOST_KERNELS + 1]]}


def find_kernels(machine, pids, wanted):
    """Returns Kernels among these processes, and whether some hang. wanted: kernels, among other texts; None if all are."""
    memories = Memories(machine, time.monotonic() + machine.limit(2, 0.05), 4)
    values = memories.read(pids, kernel_files, machine, wanted)
    memories.failures.update((pid, value["missing"]) for pid, value in values.items() if "missing" in value)
    files = {file for value in values.values() for file in value.get("files", [])}
    hang = memories.abandoned > 0
    if len(files) > MOST_KERNELS:
        return {"files": [], "unsearched": "more than %d processes or arguments look like kernels" % MOST_KERNELS}, hang
    if len(to_json(sorted(files))) > LARGEST_KERNELS:
        return {"files": [], "unsearched": "processes or arguments that look like kernels have too long names"}, hang
    texts = {"TIMEOUT": "reading its arguments hangs", "NO_TIME": "the search reached its limit"}
    unsearched = ""
    for pid, why in itertools.islice(memories.failures.items(), 1):
        reason = texts.get(why["failure"], "its arguments cannot be read: " + why["reason"])
        uid = memories.uid(pid)
        unsearched = "process %d%s: %s" % (pid, "" if uid is None else " of uid %d" % uid, reason)
    if len(memories.failures) > 1:
        unsearched += " (and %d more)" % (len(memories.failures) - 1)
    return {"files": sorted(files), "unsearched": unsearched}, hang
