"""Processes that are related to a listed one whose environ is not as execve(2) wrote it."""
MOST_RELATED, MOST_ANCESTORS = 512, 64
ANCESTOR, LEADER, GROUP, SESSION, CGROUP = range(5)  # the first ones count if there are too many


class Relations:
    """All processes at one moment, as far as their relations are concerned."""

    def __init__(self, machine, stop):
        self.machine, self.stop, self.is_complete = machine, stop, True
        self.stats, self.uids, self.members, self.cgroups = {}, {}, {}, None
        for pid in machine.pids():
            content = self.has_time() and reading(machine.stat, pid).get("value")
            if content:
                self.stats[pid] = fields(content)
                self.members.setdefault((GROUP, self.stats[pid][2]), []).append(pid)
                self.members.setdefault((SESSION, self.stats[pid][3]), []).append(pid)

    def has_time(self):
        self.is_complete = self.is_complete and time.monotonic() < self.stop
        return self.is_complete

    def uid(self, pid):
        if pid not in self.uids:
            self.uids[pid] = reading(self.machine.uid, pid).get("value")
        return self.uids[pid]

    def cgroup(self, pid):
        """Returns the path in the hierarchy of version 2."""
        lines = reading(self.machine.cgroup, pid).get("value", b"").split(b"\n")
        return next((line[3:] for line in lines if line.startswith(b"0::")), b"")

    def unit_members(self, pid):
        path = self.cgroup(pid)
        if not is_unit(path):
            return []
        if self.cgroups is None:
            self.cgroups = {}
            for other in filter(lambda _: self.has_time(), self.stats):
                self.cgroups.setdefault(self.cgroup(other), []).append(other)
        return self.cgroups.get(path, [])

    def of(self, pid):
        """Yields the kind and the pid of each related process of the same real uid; some of them several times."""
        uid, stat = self.uid(pid), self.stats.get(pid)
        if uid is None or stat is None:
            return
        for ancestor in self.ancestors(pid):
            yield ANCESTOR, ancestor
        # What belongs to no group or session, or to one of another PID namespace, has 0.
        named = [(kind, key) for kind, key in ((GROUP, stat[2]), (SESSION, stat[3])) if key != b"0"]
        members = [(kind, other) for kind, key in named for other in self.members[kind, key]]
        for kind, other in members + [(CGROUP, other) for other in self.unit_members(pid)]:
            if other != pid and self.uid(other) == uid:
                yield LEADER if stat[3] == b"%d" % other else kind, other

    def ancestors(self, pid):
        """Yields the parent, its parent and so on, up to the first one of another real uid."""
        child = pid
        for _ in range(MOST_ANCESTORS):
            child = int(self.stats[child][1] or 0)
            if child not in self.stats or self.uid(child) != self.uid(pid):
                return
            yield child


def is_unit(path):
    """Whether the processes of a cgroup were started for one purpose: a container, or a scope or service of systemd."""
    names = path.split(b"/")
    # The manager of a user's services is no such service, and init.scope is the manager.
    is_service = names[-1].endswith((b".scope", b".service")) and not names[-1].startswith(b"user@")
    return is_service and names[-1] != b"init.scope" or any(map(is_container, names))


def is_container(name):
    """Whether a cgroup has the name of a container: an id of 64 hexadecimal digits."""
    name = name[:-6] if name.endswith(b".scope") else name
    return name[-65:-64] in (b"", b"-", b":") and len(name) >= 64 and not name[-64:].strip(b"0123456789abcdef")


def needs_relations(fact, settled):
    """Whether the membership of a process is still open, because its environ is not as execve(2) wrote it."""
    if "value" not in fact["before"] or "value" not in fact["environ"]:
        return False
    stat, environ = fields(binascii.a2b_base64(fact["before"]["value"])), fact["environ"]["value"]
    is_exiting = environ["size"] == 0 and stat[48] == b"0" and not has_exited(stat)
    if is_exiting or is_intact(stat, environ):
        return False
    return (b"%d" % fact["pid"], stat[19]) not in settled


def is_intact(stat, environ):
    """Whether an environ is as execve(2) wrote it: strings NAME=VALUE between the arguments and its own end."""
    # The first thread has no memory after its exit, and shows no bounds.
    is_in_place = environ["size"] > 0 if has_exited(stat) else (
        stat[46] == stat[47] and int(stat[48] or 0) - int(stat[47] or 0) == environ["size"])
    return environ["wellFormed"] and is_in_place


def related_facts(machine, facts):
    """Returns ProcessFacts of the processes that are related to some of these, and RelatedOmission.

    Completes these facts if relations are needed.
    """
    settled = identities(machine.request["settled"])
    open_ones = [fact for fact in facts if needs_relations(fact, settled)]
    if not open_ones:
        return [], {"ofAnyUser": False, "uids": []}
    budget = machine.request["budget"]
    stop = min(time.monotonic() + budget / 10, machine.finish - 0.22 * budget)
    relations, found = Relations(machine, stop), {}
    for fact in open_ones:
        for kind, pid in relations.of(fact["pid"]):
            found[pid] = min(kind, found.get(pid, kind))
    listed = {fact["pid"] for fact in facts}
    for fact in facts:  # they can be related to each other
        fact.update(machine.origin(fact["pid"]))
    turns, order = {}, []
    for pid in filter(lambda pid: pid not in listed, sorted(found)):
        # One process of each user, then the next ones: the many processes of one user leave out no other user's.
        key = found[pid], relations.uid(pid)
        turns[key] = turns.get(key, 0) + 1
        order.append((found[pid], turns[key], pid))
    pids = [pid for _, _, pid in sorted(order)[:MOST_RELATED]]
    memories = Memories(machine, stop)
    related = merged(machine, pids, memories.read(pids, machine.related_process), memories.failures)
    # Only processes of the same uid are related, so what one user has too much of says nothing about the others.
    left_out = [pid for _, _, pid in sorted(order)[MOST_RELATED:]] + list(memories.failures)
    uids = {relations.uid(pid) for pid in left_out}
    return related, {"ofAnyUser": not relations.is_complete, "uids": sorted(uids)}
