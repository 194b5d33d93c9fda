"""The ancestors of processes whose environs show no environment."""
MOST_ANCESTORS, MOST_STEPS = 512, 64


def is_overwritten(fact):
    """Whether an environ is not as execve(2) wrote it: strings NAME=VALUE between the arguments and its own end.

    The kernel shows zeros instead of its addresses if it may not tell them.
    """
    environ = fact["environ"]["value"]
    stats = environ["thread"] or {key: fact[key].get("value", b"") for key in ("before", "after")}
    before, after = ([int(field or 0) for field in fields(stats[key])[45:49]] for key in ("before", "after"))
    _, arguments_end, start, end = before
    is_in_place = before == after and arguments_end == start and end - start == environ["size"]
    return bool(end and after[3]) and not (environ["wellFormed"] and is_in_place)


def shows_environment(fact):
    """Whether the environ of a process decides alone, or nothing can: it cannot be read."""
    environ = fact["environ"].get("value")
    return not environ or bool(environ["id"]) and not is_overwritten(fact)


def ancestor_facts(machine, observed):
    """Returns ProcessFacts of the ancestors: first the stats of all, then the environs that may decide a membership.

    Users choose the number of processes, so the time and the number are limited.
    """
    reader = ProcessReader(machine, machine.limit(machine.request["budget"] / 10, 0.22, 0))
    reader.uids.update((fact["pid"], fact["uid"].get("value")) for fact in observed)
    known, found, deciding = {fact["pid"]: fact for fact in observed}, {}, {}
    for pid in reader.in_turns([fact["pid"] for fact in observed if not shows_environment(fact)]):
        child, uid = known[pid], known[pid]["uid"]
        for _ in range(MOST_STEPS if time.monotonic() < reader.stop else 0):
            parent = int(fields(child["after"].get("value", b""))[1] or 0)
            if parent > 1 and parent not in known and len(found) < MOST_ANCESTORS:
                found[parent] = known[parent] = reader.facts([parent], reader.read([parent], machine.identity))[0]
            # The first process adopts orphans, so it says nothing about them.
            if parent <= 1 or parent not in known or known[parent]["uid"] != uid:
                break
            child = known[parent]
            if parent in found and is_overwritten(known[pid]):
                deciding[parent] = None
    for pid, value in reader.read(deciding, machine.process, True).items():
        found[pid].update(value if "after" in value else {"environ": reader.failures[pid]})
    return list(found.values())
