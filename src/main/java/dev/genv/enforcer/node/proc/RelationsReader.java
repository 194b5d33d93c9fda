package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Finds and reads the processes to which those are related that have overwritten their environs: all stats once, then the uids and cgroups of
 * those that may be related. Users choose the number of processes, so the time and the number are limited.
 */
public final class RelationsReader {
    private static final Duration TIME = Duration.ofSeconds(1);
    private static final int MOST_ANCESTORS = 64;
    private static final int FIRST_PROCESS = 1;
    /** That of processes whose session began outside the PID namespace of the service. They have nothing in common. */
    private static final int NO_SESSION = 0;

    private final ProcFs proc;
    private final LongSupplier nanos;
    private final long start;
    private final Map<Integer, ProcStat.Relations> relations = new HashMap<>();
    private final Map<Integer, Long> uids = new HashMap<>();
    private final Map<Integer, Cgroup> cgroups = new HashMap<>();
    private final Set<Integer> found = new LinkedHashSet<>();
    private final Set<Long> leftOut = new HashSet<>();
    private boolean isOfAnyUserLeftOut;

    /** @param nanos as {@link System#nanoTime} */
    private RelationsReader(ProcFs proc, LongSupplier nanos) {
        this.proc = proc;
        this.nanos = nanos;
        start = nanos.getAsLong();
    }

    /**
     * The listed processes and those to which they are related.
     *
     * @param processes the listed ones, with their cgroups and namespaces if relations were gathered
     * @param omission of which users related ones were left out
     */
    public record Relations(List<ProcessFacts> processes, List<ProcessFacts> related, RelatedOmission omission) {}

    /**
     * Reads the relations.
     *
     * @param settled the processes whose relations are not needed
     */
    public static Relations read(ProcessReader reader, List<ProcessFacts> listed, Set<ProcessId> settled) {
        return read(reader, listed, settled, System::nanoTime);
    }

    static Relations read(ProcessReader reader, List<ProcessFacts> listed, Set<ProcessId> settled, LongSupplier nanos) {
        var subjects = listed.stream()
                .filter(process -> isAsked(process, settled))
                .map(ProcessFacts::pid)
                .toList();
        if (subjects.isEmpty()) {
            return new Relations(listed, List.of(), RelatedOmission.NONE);
        }
        var search = new RelationsReader(reader.proc(), nanos);
        var processes = listed.stream().map(reader::withRelations).toList();
        try {
            var known = listed.stream().map(ProcessFacts::pid).collect(Collectors.toSet());
            var related = search.find(subjects, known).stream()
                    .takeWhile(_ -> search.hasTime())
                    .map(reader::readRelated)
                    .toList();
            return new Relations(processes, related, new RelatedOmission(search.isOfAnyUserLeftOut, search.leftOut));
        } catch (IOException e) {
            return new Relations(processes, List.of(), RelatedOmission.OF_ANY_USER);
        }
    }

    /** Whether the environ of a process is not as execve(2) wrote it. */
    private static boolean isAsked(ProcessFacts process, Set<ProcessId> settled) {
        if (!(process.environ() instanceof Reading.Value<EnvironFacts>(var environ))
                || !(process.before() instanceof Reading.Value<Bytes>(var before))
                || !(process.after() instanceof Reading.Value<Bytes>(var after))) {
            return false;
        }
        var first = ProcStat.tryParse(before.text());
        var last = ProcStat.tryParse(after.text());
        return first.isPresent()
                && last.isPresent()
                && !settled.contains(new ProcessId(process.pid(), first.get().startTime()))
                && !(environ.wellFormed() && first.get().isEnvironInPlace(last.get(), environ.size()));
    }

    private boolean hasTime() {
        var isInTime = nanos.getAsLong() - start <= TIME.toNanos();
        isOfAnyUserLeftOut |= !isInTime;
        return isInTime;
    }

    /**
     * Returns the pids of the relatives. If there are too many, the users take turns, with the ancestors first.
     *
     * @param known the pids that are not returned
     * @throws IOException if the list of processes cannot be read
     */
    private List<Integer> find(Collection<Integer> subjects, Set<Integer> known) throws IOException {
        for (var pid : proc.pids()) {
            if (!hasTime()) {
                return List.of();
            }
            readStat(pid);
        }
        collect(subjects);
        found.removeAll(known);
        return found.size() > HostFacts.MOST_RELATED ? takeTurns() : List.copyOf(found);
    }

    /** The many processes of one user, and of his subordinate uids, leave out no other user's. */
    private List<Integer> takeTurns() {
        var turns = new ProcessTurns<>(found, this::owner, Duration.ZERO, () -> 0);
        var inTurn = new ArrayList<Integer>();
        turns.forEachRemaining(turn -> inTurn.add(turn.process()));
        inTurn.subList(HostFacts.MOST_RELATED, inTurn.size()).forEach(this::leaveOut);
        return inTurn.subList(0, HostFacts.MOST_RELATED);
    }

    private Optional<Long> owner(int pid) {
        return Optional.ofNullable(uid(pid)).map(proc::ownerOf);
    }

    private void leaveOut(int pid) {
        var uid = uid(pid);
        if (uid == null) {
            isOfAnyUserLeftOut = true;
        } else {
            leftOut.add(uid);
        }
    }

    /** Collects the relatives, those first that prove most: they count if there are too many. */
    private void collect(Collection<Integer> subjects) {
        var present = subjects.stream()
                .filter(pid -> relations.containsKey(pid) && uid(pid) != null)
                .toList();
        present.forEach(this::addAncestors);
        present.forEach(pid -> session(pid).ifPresent(leader -> addIfOfUser(pid, leader)));
        addMembers(present, this::group);
        addMembers(present, this::session);
        addMembers(present, this::unit);
    }

    /** Adds the processes that have such a thing, and the user, in common with one of the subjects. */
    private void addMembers(Collection<Integer> subjects, IntFunction<Optional<?>> common) {
        var users = new HashMap<Object, Set<Long>>();
        for (var subject : subjects) {
            common.apply(subject)
                    .ifPresent(key ->
                            users.computeIfAbsent(key, _ -> new HashSet<>()).add(Objects.requireNonNull(uid(subject))));
        }
        for (var pid : users.isEmpty() ? Set.<Integer>of() : relations.keySet()) {
            if (!hasTime()) {
                return;
            }
            if (common.apply(pid)
                    .map(users::get)
                    .filter(known -> known.contains(uid(pid)))
                    .isPresent()) {
                found.add(pid);
            }
        }
    }

    private void addIfOfUser(int subject, int pid) {
        if (relations.containsKey(pid) && Objects.equals(uid(subject), uid(pid))) {
            found.add(pid);
        }
    }

    /** The first process of the machine is nobody's ancestor, as {@code RelatedProcesses} decides it. */
    private void addAncestors(int subject) {
        var pid = subject;
        for (var i = 0; i < MOST_ANCESTORS && relations.containsKey(pid); i++) {
            pid = relation(pid).parent();
            if (pid <= FIRST_PROCESS || !Objects.equals(uid(subject), uid(pid))) {
                return;
            }
            found.add(pid);
        }
    }

    private ProcStat.Relations relation(int pid) {
        return Objects.requireNonNull(relations.get(pid));
    }

    private Optional<Integer> session(int pid) {
        return Optional.of(relation(pid).session()).filter(session -> session != NO_SESSION);
    }

    /** A process group is within a session. */
    private Optional<List<Integer>> group(int pid) {
        return session(pid).map(session -> List.of(session, relation(pid).group()));
    }

    private Optional<Cgroup> unit(int pid) {
        return Optional.of(cgroup(pid)).filter(Cgroup::isUnit);
    }

    private void readStat(int pid) {
        try {
            proc.stat(pid).map(ProcStat::relations).ifPresent(found -> relations.put(pid, found));
        } catch (IOException e) {
            isOfAnyUserLeftOut = true;
        }
    }

    private @Nullable Long uid(int pid) {
        if (!uids.containsKey(pid)) {
            try {
                uids.put(pid, proc.realUid(pid));
            } catch (IOException e) {
                isOfAnyUserLeftOut = true;
                uids.put(pid, null);
            }
        }
        return uids.get(pid);
    }

    private Cgroup cgroup(int subject) {
        return cgroups.computeIfAbsent(subject, pid -> {
            try {
                var cgroup = proc.cgroup(pid, ProcessFacts.LARGEST_CGROUP);
                return Cgroup.parse(new String(cgroup, StandardCharsets.UTF_8));
            } catch (IOException e) {
                if (proc.exists(pid)) {
                    leaveOut(pid);
                }
                return Cgroup.UNKNOWN;
            }
        });
    }
}
