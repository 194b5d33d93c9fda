"""The names of pods and containers on a node of Kubernetes."""
MOST_POD_NAMES, MOST_POD_FILES = 4096, 65536
LETTERS_OF_NO_ID = bytes(set(range(256)) - set(b"0123456789abcdef-_"))
POD_NAMES = bytes.maketrans(LETTERS_OF_NO_ID + b"_", b" " * len(LETTERS_OF_NO_ID) + b"-")


def pod_facts(machine, processes):
    """Returns PodFacts of the processes whose cgroups were read."""
    facts, ids = {"pods": [], "containers": []}, set()
    for process in processes:
        content = binascii.a2b_base64(process["cgroup"].get("value", ""))
        if b"pod" in content:
            ids.update(possible_ids(content))
    if ids:
        try:
            with Call([lambda: pod_names(machine, ids)]) as child:
                for part in child.parts(machine.limit(0.5, 0.22)):
                    facts.update(part)
        except (NoAnswer, OSError):
            pass  # the names are missing then, and asked for again
    return facts


def possible_ids(cgroup):
    """Returns everything in a cgroup that may be the uid of a pod or the id of a container."""
    texts = [each for each in cgroup.translate(POD_NAMES).split() if len(each) >= 32]
    return {each[-length:].decode() for each in texts for length in (64, 36, 32) if len(each) >= length}


def pod_names(machine, ids):
    """Yields the names of the kubelet's log files for these pods and containers. A child process executes it."""
    logs = os.path.dirname(machine.request["etc"]).rstrip("/") + "/var/log/"
    yield {"pods": log_names(logs + "pods", lambda name: name.rpartition("_")[2] in ids)}
    yield {"containers": log_names(
        logs + "containers", lambda name: name.rpartition(".")[0].rpartition("-")[2] in ids)}


def log_names(directory, is_wanted):
    try:
        names = (text(entry.name) for entry in itertools.islice(os.scandir(directory), MOST_POD_FILES))
        return list(itertools.islice(filter(is_wanted, names), MOST_POD_NAMES))
    except OSError:
        return []  # no node of Kubernetes, or not permitted
