"""Processes that are related to a listed one whose environ is not as execve(2) wrote it."""
MOST_RELATED, MOST_ANCESTORS = 512, 64
ANCESTOR, LEADER, GROUP, SESSION, CGROUP = range(5)  # the first ones count if there are too many


class Relations:
    """All processes at one moment, as far as their relations are concerned."""

    def __init__(self, memories):
        self.memories, self.machine, self.is_complete = memories, memories.machine, True
        self.stats, self.members, self.cgroups = {}, collections.defaultdict(list), None
        for pid in self.in_time(self.machine.pids()):
            stat = self.machine.stat_fields(pid)
            if stat[0]:
                self.stats[pid] = stat
                self.members[GROUP, stat[2]].append(pid)
                self.members[SESSION, stat[3]].append(pid)

    def in_time(self, pids):
        """Yields these processes as long as there is time."""
        for pid in pids:
            self.is_complete = self.is_complete and time.monotonic() < self.memories.stop
            if not self.is_complete:
                return
            yield pid

    def cgroup(self, pid):
        """Returns the path in the hierarchy of version 2."""
        lines = reading(self.machine.cgroup, pid).get("value", b"").split(b"\n")
        return next((line[3:] for line in lines if line.startswith(b"0::")), b"")

    def unit_members(self, pid):
        path = self.cgroup(pid)
        if not is_unit(path):
            return []
        if self.cgroups is None:
            self.cgroups = collections.defaultdict(list)
            for other in self.in_time(self.stats):
                self.cgroups[self.cgroup(other)].append(other)
        return self.cgroups.get(path, [])

    def of(self, pid):
        """Yields the kind and the pid of each related process of the same real uid; some of them several times."""
        uid, stat = self.memories.uid(pid), self.stats.get(pid)
        if uid is None or stat is None:
            return
        parent = int(stat[1] or 0)
        # The parent, its parent and so on. The first process adopts orphans, so it says nothing about them.
        for _ in range(MOST_ANCESTORS):
            if parent <= 1 or parent not in self.stats or self.memories.uid(parent) != uid:
                break
            yield ANCESTOR, parent
            parent = int(self.stats[parent][1] or 0)
        # What belongs to no group or session, or to one of another PID namespace, has 0.
        named = [(kind, key) for kind, key in ((GROUP, stat[2]), (SESSION, stat[3])) if key != b"0"]
        members = [(kind, other) for kind, key in named for other in self.members[kind, key]]
        for kind, other in members + [(CGROUP, other) for other in self.unit_members(pid)]:
            if other != pid and self.memories.uid(other) == uid:
                yield LEADER if stat[3] == b"%d" % other else kind, other


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
    stat, environ = fields(fact["before"]["value"]), fact["environ"]["value"]
    is_exiting = environ["size"] == 0 and stat[48] == b"0" and not has_exited(stat)
    return not is_exiting and not is_intact(stat, environ) and (b"%d" % fact["pid"], stat[19]) not in settled


def is_intact(stat, environ):
    """Whether an environ is as execve(2) wrote it: strings NAME=VALUE between the arguments and its own end."""
    is_in_place = stat[46] == stat[47] and int(stat[48] or 0) - int(stat[47] or 0) == environ["size"]
    return environ["wellFormed"] and is_in_place


def related_facts(machine, facts):
    """Returns ProcessFacts of the processes that are related to some of these, and RelatedOmission.

    Completes these facts if relations are needed.
    """
    settled = identities(machine.request["settled"])
    open_ones = [fact for fact in facts if needs_relations(fact, settled)]
    if not open_ones:
        return [], {"ofAnyUser": False, "uids": []}
    memories = Memories(machine, time.monotonic() + machine.search_limit())
    relations, found = Relations(memories), {}
    for fact in open_ones:
        for kind, pid in relations.of(fact["pid"]):
            found[pid] = min(kind, found.get(pid, kind))
    listed = {fact["pid"] for fact in facts}
    for fact in facts:  # they can be related to each other
        fact.update(machine.origin(fact["pid"]))
    order = in_turns(sorted(found.keys() - listed, key=lambda pid: (found[pid], pid)), memories.owner)
    pids = order[:MOST_RELATED]
    related = memories.facts(pids, memories.read(pids, lambda pid: machine.process(pid, True)))
    # Only processes of the same uid are related, so what one user has too much of says nothing about the others.
    uids = {memories.uid(pid) for pid in order[MOST_RELATED:] + list(memories.failures)}
    return related, {"ofAnyUser": not relations.is_complete, "uids": sorted(uids)}
