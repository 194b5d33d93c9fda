package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.node.proc.ProcessTurns.Turn;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the ancestors of the processes whose environs show no environment: first the stats of all, then the environs that may decide a
 * membership. Users choose the number of processes, so their time and their number are limited.
 */
public final class AncestorReader {
    private static final Duration TIME = Duration.ofSeconds(1);
    private static final int FIRST_PROCESS = 1;

    private final ProcessReader reader;
    private final Map<Integer, ProcessFacts> observed;
    private final Map<Integer, ProcessFacts> found = new LinkedHashMap<>();

    private AncestorReader(ProcessReader reader, List<ProcessFacts> observed) {
        this.reader = reader;
        // A pid that is listed can be that of a process that holds a GPU, too.
        this.observed =
                observed.stream().collect(Collectors.toMap(ProcessFacts::pid, Function.identity(), (one, _) -> one));
    }

    /** Returns {@link HostFacts#ancestors} of the observed processes. */
    public static List<ProcessFacts> read(ProcessReader reader, List<ProcessFacts> observed)
            throws InterruptedException {
        var search = new AncestorReader(reader, observed);
        var open =
                observed.stream().filter(process -> !namesEnvironment(process)).toList();
        var deciding = reader.inTurns(open, ProcessFacts::uid, TIME, search::follow).stream()
                .flatMap(List::stream)
                .distinct()
                .toList();
        reader.inTurns(
                deciding,
                pid -> search.known(pid).uid(),
                TIME,
                turn -> search.found.put(
                        turn.process(), reader.withEnviron(search.known(turn.process()), turn.inTime())));
        return List.copyOf(search.found.values());
    }

    private ProcessFacts known(int pid) {
        return Objects.requireNonNull(found.get(pid));
    }

    /** Whether the environ of a process decides alone, or nothing can: it cannot be read. */
    private static boolean namesEnvironment(ProcessFacts process) {
        return !(process.environ() instanceof Reading.Value<EnvironFacts>(var environ))
                || (environ.id().length() > 0 && !isOverwritten(process));
    }

    /** Not if the kernel may not tell where it is. If the first thread has exited, another one shows that. */
    private static boolean isOverwritten(ProcessFacts process) {
        if (!(process.environ() instanceof Reading.Value<EnvironFacts>(var environ))) {
            return false;
        }
        var thread = environ.thread();
        var before = stat(thread == null ? process.before() : Reading.of(thread.before()));
        var after = stat(thread == null ? process.after() : Reading.of(thread.after()));
        return Stream.of(before, after)
                        .allMatch(stat ->
                                stat.filter(shown -> shown.addresses() != null).isPresent())
                && !(environ.wellFormed()
                        && before.orElseThrow().isEnvironInPlace(after.orElseThrow(), environ.size()));
    }

    private static Optional<ProcStat> stat(Reading<Bytes> stat) {
        return stat instanceof Reading.Value<Bytes>(var bytes) ? ProcStat.tryParse(bytes.array()) : Optional.empty();
    }

    /** Finds the ancestors of a process, and returns those whose environs may decide where it belongs. */
    private List<Integer> follow(Turn<ProcessFacts> turn) {
        var process = turn.process();
        var deciding = new ArrayList<Integer>();
        var child = process;
        for (var step = 0; turn.inTime() && step < HostFacts.MOST_STEPS; step++) {
            var pid = stat(child.after()).map(stat -> stat.relations().parent()).orElse(0);
            var parent = pid <= FIRST_PROCESS ? null : find(pid);
            if (parent == null || !parent.uid().equals(process.uid())) {
                break;
            }
            if (found.containsKey(pid)) {
                deciding.add(pid);
            }
            child = parent;
        }
        return isOverwritten(process) ? deciding : List.of();
    }

    /** Returns a process; null if too many were found. */
    private @Nullable ProcessFacts find(int pid) {
        var known = observed.getOrDefault(pid, found.get(pid));
        if (known == null && found.size() < HostFacts.MOST_ANCESTORS) {
            known = reader.readAncestor(pid);
            found.put(pid, known);
        }
        return known;
    }
}
