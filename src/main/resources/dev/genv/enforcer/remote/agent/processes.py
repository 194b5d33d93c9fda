"""Processes whose files may not be readable for ever."""
LARGEST_ARGUMENTS = 64 << 10  # a kernel names its file in the first few hundred bytes
MOST_STUCK, MOST_STUCK_OF_A_USER = 64, 8
READING_TIME = 4  # seconds: ProcessReader of the service gives the reason
PATIENCE = 0.5, 0.5
MOST_KERNELS = 10000  # users choose their number
DIGITS_AND_BLANKS = bytes(each if chr(each) in "0123456789" else 32 for each in range(256))
LONGEST_NAME = 255  # bytes of a file's name
LARGEST_KERNELS = 1 << 20  # of the answer
NO_TIME = failed("NO_TIME", "no time was left to wait for its answer")
FACTS = ("before", "uid", "environ", "executable", "cgroup", "namespacePids", "parent", "uidMap", "after")


class ProcessReader:
    """Reads files of processes in a child process: their memory, or an execve(2), can keep the kernel from answering for ever.

    The next process is always one of the owner whose processes took the least time so far: what one owner has too much
    of delays only that owner's processes.
    """

    def __init__(self, machine, seconds, patience=PATIENCE, most_children=MOST_OF_SEARCHES, skipped=()):
        """patience: how long (s) in all it waits for processes of which nothing is known, and for others, before it waits only shortly.

        skipped: processes that did not answer earlier, and are not read. They count like those that do not answer now.
        """
        self.machine, self.most_children = machine, most_children
        self.failures, self.uids, self.spent = {}, {}, collections.Counter()  # by pid, and the time (s) by owner
        self.renew(seconds, patience, skipped)

    def renew(self, seconds, patience=PATIENCE, skipped=()):
        """Gives it time anew."""
        self.stop, self.patience, self.skipped = time.monotonic() + seconds, patience, skipped
        # The time (s) for processes that did not answer, by whether something is known of them; they, and their number by owner.
        self.waited, self.abandoned, self.stuck = [0, 0], [], collections.Counter()

    def read(self, pids, task, *arguments):
        """Executes a task, a function of a pid and these arguments, for each process, and returns what each yields, merged."""
        values, pending, why = {pid: {} for pid in pids}, dict.fromkeys(pids), NO_TIME
        while pending and time.monotonic() < self.stop and len(self.abandoned) < MOST_STUCK:
            try:
                child = execute(self.tasks, pending, task, arguments, most=self.most_children)
            except OSError as error:  # such as too many processes
                why = failed("NO_TIME", error.strerror)
                break
            with child:
                self.collect(child, pending, values)
        self.failures.update((pid, why) for pid in pending)
        return values

    def tasks(self, pending, task, arguments):
        """Yields unknown uids, and then each pid and what the task yields for that process. A child process executes this."""
        # Nothing guards this for each process: status answers even during an execve(2) that hangs (Linux 6.18).
        uids = {pid: reading(self.machine.uid, pid).get("value") for pid in set(self.skipped).union(pending).difference(self.uids)}
        yield uids
        self.uids.update(uids)
        self.leave_out(pending)
        for pid in self.in_turns(pending):
            yield from (None, pid, MAY_HANG)
            yield from task(pid, *arguments)

    def in_turns(self, pids):
        """Yields each process, the next one of the owner whose processes took the least time so far: also until the next is asked for."""
        queues = {}
        for pid in pids:
            queues.setdefault(self.owner(pid), collections.deque()).append(pid)
        while queues:
            owner, start = min(queues, key=self.spent.__getitem__), time.monotonic()
            yield queues[owner].popleft()
            self.spent[owner] += time.monotonic() - start
            if not queues[owner]:
                del queues[owner]

    def collect(self, child, pending, values):
        """Removes the processes that were read, up to one that does not answer: it hangs the child too."""
        try:
            child.merge(self.uids, self.stop - time.monotonic())
            self.leave_out(pending)
            while pending and time.monotonic() < self.stop:
                pid = child.part(self.stop)
                del pending[pid]
                self.collect_one(child, pid, values[pid])
        except NoAnswer:
            pass  # the time is over, or the reason is known

    def collect_one(self, child, pid, value):
        owner, start, part = self.owner(pid), time.monotonic(), {}
        try:
            while part is not None:
                value.update(part)
                is_patient = self.waited[bool(value)] < self.patience[bool(value)]
                part = child.part(start + (1 if is_patient else 0.05))
        except NoAnswer:
            self.waited[bool(value)] += time.monotonic() - start
            self.abandoned.append(pid)
            self.stuck[owner] += 1
            # After a short wait it is unknown whether a process hangs.
            self.failures[pid] = failed("TIMEOUT", "it does not answer") if is_patient else NO_TIME
            raise
        finally:
            self.spent[owner] += time.monotonic() - start

    def leave_out(self, pending):
        """Removes the processes of owners of whom too many hang."""
        stuck = self.stuck + collections.Counter(map(self.owner, self.skipped))
        for pid in [pid for pid in pending if stuck[self.owner(pid)] >= MOST_STUCK_OF_A_USER]:
            del pending[pid]
            self.failures[pid] = failed("NO_TIME", "%d other processes of its user hang" % MOST_STUCK_OF_A_USER)

    def owner(self, pid):
        """Returns the uid of a process or, if it is a subordinate uid, that of the account to which it belongs; None if unknown."""
        uid = self.uids.get(pid)
        return None if uid is None else self.machine.owner_of(uid)

    def facts(self, pids, values):
        """Returns ProcessFacts: the values that were read and, for each missing one, the reason."""
        facts = []
        for pid in pids:
            fact = dict.fromkeys(FACTS, self.failures.get(pid, failed("SKIPPED")))
            if self.uids.get(pid) is not None:
                fact["uid"] = {"value": self.uids[pid]}
            facts.append(dict(fact, pid=pid, **values.get(pid, {})))
        return facts


def identities(machine, pids, spare):
    """Returns ProcessFacts of processes without what is in their memory. For the rest this part of the budget is left."""
    reader = ProcessReader(machine, machine.limit(2, spare), most_children=MOST_CHILDREN)  # one that hangs takes a second
    return reader.facts(pids, reader.read(pids, machine.identity))


def process_facts(machine, pids):
    """Returns ProcessFacts of these processes."""
    skipped = {each["pid"] for each in machine.request["omitted"]["processes"]}.intersection(pids)
    # A process whose stat does not answer is waited for in each observation, because only a known start time allows to omit it.
    reader = ProcessReader(machine, machine.limit(READING_TIME, 0.25), (PATIENCE[0], READING_TIME), MOST_CHILDREN, skipped)
    wanted = set(pids) - skipped
    values = reader.read([pid for pid in dict.fromkeys(machine.request["first"] + pids) if pid in wanted], machine.process)
    # Of the others at least the identity is read, but not after a stat that does not answer. What is known stays.
    hang = {pid for pid in reader.abandoned if not values[pid]}
    rest = [pid for pid in pids if pid not in hang and "after" not in values.get(pid, ())]
    reader.renew(machine.limit(2, 0.22))
    for pid, value in reader.read(rest, machine.identity, False).items():
        values[pid] = dict(value, **values.get(pid, {}))
    return reader.facts(pids, values)


def liveness_facts(machine, readings, observed):
    """Returns LivenessFacts for all numbers and kernels in the readings of envs.json, and whether arguments do not answer."""
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
    listed = sorted(map(int, numbers.intersection(b"%d" % pid for pid in pids)))
    unknown = [pid for pid in listed if uids.get(pid) is None]
    try:
        call(execute(uids_of, unknown, machine), machine.limit(2, 0.08), uids)
    except (NoAnswer, OSError):
        pass  # only the existence of the others is known: users choose the number of pids in envs.json
    processes = [{"pid": pid, "uid": uids.get(pid)} for pid in listed]
    dense = content.translate(None, b" \t\r\n")
    # Escapes may hide the name of the field; then the search may be unnecessary.
    if dense.count(b'"kernel_ids":[') > dense.count(b'"kernel_ids":[]') or b"\\" in content:
        if machine.request["omitted"]["kernels"]:
            kernels["unsearched"] = "reading the arguments of a process hung in an earlier observation"
        else:
            wanted = None if b"\\" in content else set(content.split(b'"'))
            kernels, hang = find_kernels(machine, sorted(pids), wanted)
    return {"processes": {"value": processes}, "kernels": kernels}, hang


def uids_of(pids, machine):
    """Yields the uid of each of these processes; None if it is unknown. A child process executes this."""
    for pid in pids:
        yield {pid: reading(machine.uid, pid).get("value")}


def kernel_files(pid, machine, wanted):
    """Yields the connection files of Jupyter kernels that arguments of a process end in."""
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
    reader = ProcessReader(machine, machine.limit(2, 0.05), (4, 4))
    values = reader.read(pids, kernel_files, machine, wanted)
    reader.failures.update((pid, value["missing"]) for pid, value in values.items() if "missing" in value)
    files = {file for value in values.values() for file in value.get("files", [])}
    hang = bool(reader.abandoned)
    if len(files) > MOST_KERNELS:
        return {"files": [], "unsearched": "more than %d processes or arguments look like kernels" % MOST_KERNELS}, hang
    if len(to_json(sorted(files))) > LARGEST_KERNELS:
        return {"files": [], "unsearched": "processes or arguments that look like kernels have too long names"}, hang
    texts = {"TIMEOUT": "reading its arguments hangs", "NO_TIME": "the search reached its limit"}
    unsearched = ""
    for pid, why in itertools.islice(reader.failures.items(), 1):
        reason = texts.get(why["failure"], "its arguments cannot be read: " + why["reason"])
        uid = reader.uids.get(pid)
        unsearched = "process %d%s: %s" % (pid, "" if uid is None else " of uid %d" % uid, reason)
    if len(reader.failures) > 1:
        unsearched += " (and %d more)" % (len(reader.failures) - 1)
    return {"files": sorted(files), "unsearched": unsearched}, hang
