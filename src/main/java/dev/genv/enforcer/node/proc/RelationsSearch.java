package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.host.HostFacts;
import dev.genv.enforcer.format.linux.Cgroup;
import dev.genv.enforcer.format.linux.ProcStat;
import dev.genv.enforcer.format.linux.ProcStat.Relations;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One search for the relatives of processes: all stats once, then the uids and cgroups of those that may be related. */
final class RelationsSearch {
    private static final int MOST_ANCESTORS = 64;
    private static final int FIRST_PROCESS = 1;
    /** That of processes whose session began outside the PID namespace of the service. They have nothing in common. */
    private static final int NO_SESSION = 0;

    private final ProcFs proc;
    private final BooleanSupplier isLate;
    private final Map<Integer, Relations> relations = new HashMap<>();
    private final Map<Integer, Long> uids = new HashMap<>();
    private final Map<Integer, Cgroup> cgroups = new HashMap<>();
    private final Set<Integer> found = new LinkedHashSet<>();
    private boolean complete = true;

    RelationsSearch(ProcFs proc, BooleanSupplier isLate) {
        this.proc = proc;
        this.isLate = isLate;
    }

    /** Whether no process was left out so far. */
    boolean isComplete() {
        return complete;
    }

    /** Whether time is left. */
    boolean hasTime() {
        var isInTime = !isLate.getAsBoolean();
        complete &= isInTime;
        return isInTime;
    }

    /**
     * Returns the pids of the relatives, the nearest ones first.
     *
     * @throws IOException if the list of processes cannot be read
     */
    Set<Integer> find(Collection<Integer> subjects) throws IOException {
        for (var pid : proc.pids()) {
            if (!hasTime()) {
                return found;
            }
            readStat(pid);
        }
        subjects.forEach(this::addAncestors);
        var known = subjects.stream().filter(relations::containsKey).collect(Collectors.toSet());
        var sessions = known.stream()
                .map(pid -> Objects.requireNonNull(relations.get(pid)).session())
                .filter(session -> session != NO_SESSION)
                .collect(Collectors.toSet());
        var users = known.stream().map(this::uid).filter(Objects::nonNull).collect(Collectors.toSet());
        var units = known.stream().map(this::cgroup).filter(Cgroup::isUnit).collect(Collectors.toSet());
        for (var process : relations.entrySet()) {
            if (!hasTime()) {
                return found;
            }
            if ((sessions.contains(process.getValue().session())
                            || (!units.isEmpty() && units.contains(cgroup(process.getKey()))))
                    && users.contains(uid(process.getKey()))) {
                add(process.getKey());
            }
        }
        return found;
    }

    private void addAncestors(int subject) {
        var uid = uid(subject);
        var pid = subject;
        for (var i = 0; i < MOST_ANCESTORS && relations.containsKey(pid); i++) {
            pid = Objects.requireNonNull(relations.get(pid)).parent();
            if (pid <= FIRST_PROCESS || uid == null || !uid.equals(uid(pid))) {
                return;
            }
            add(pid);
        }
    }

    private void add(int pid) {
        if (found.size() < HostFacts.MOST_RELATED) {
            found.add(pid);
        } else {
            complete &= found.contains(pid);
        }
    }

    private void readStat(int pid) {
        try {
            proc.stat(pid).map(ProcStat::relations).ifPresent(found -> relations.put(pid, found));
        } catch (IOException e) {
            complete = false;
        }
    }

    private @Nullable Long uid(int pid) {
        if (!uids.containsKey(pid)) {
            try {
                uids.put(pid, proc.realUid(pid));
            } catch (IOException e) {
                complete = false;
                uids.put(pid, null);
            }
        }
        return uids.get(pid);
    }

    private Cgroup cgroup(int pid) {
        return cgroups.computeIfAbsent(pid, this::readCgroup);
    }

    private Cgroup readCgroup(int pid) {
        try {
            return Cgroup.parse(new String(proc.cgroup(pid, ProcessFacts.LARGEST_CGROUP), StandardCharsets.UTF_8));
        } catch (IOException e) {
            complete &= !proc.exists(pid);
            return Cgroup.UNKNOWN;
        }
    }
}
