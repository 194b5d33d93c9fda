package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.host.ProcessFacts;
import dev.genv.enforcer.host.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * Finds and reads the processes to which those are related that have overwritten their environs. Users choose the number of processes, so
 * the time and the number are limited.
 */
public final class RelationsReader {
    private static final Duration TIME = Duration.ofSeconds(1);

    private final ProcFs proc;
    private final ProcessReader reader;
    private final LongSupplier nanos;

    public RelationsReader(ProcFs proc, ProcessReader reader) {
        this(proc, reader, System::nanoTime);
    }

    /**
     * Creates a reader.
     *
     * @param nanos as {@link System#nanoTime}
     */
    RelationsReader(ProcFs proc, ProcessReader reader, LongSupplier nanos) {
        this.proc = proc;
        this.reader = reader;
        this.nanos = nanos;
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
    public Relations read(List<ProcessFacts> listed, Set<ProcessId> settled) {
        var subjects = listed.stream()
                .filter(process -> isAsked(process, settled))
                .map(ProcessFacts::pid)
                .toList();
        if (subjects.isEmpty()) {
            return new Relations(listed, List.of(), RelatedOmission.NONE);
        }
        var start = nanos.getAsLong();
        var processes = listed.stream().map(reader::withRelations).toList();
        try {
            var search = new RelationsSearch(proc, () -> nanos.getAsLong() - start > TIME.toNanos());
            var related = search.find(subjects, pids(listed)).stream()
                    .takeWhile(_ -> search.hasTime())
                    .map(reader::readRelated)
                    .toList();
            return new Relations(processes, related, search.omission());
        } catch (IOException e) {
            return new Relations(processes, List.of(), RelatedOmission.OF_ANY_USER);
        }
    }

    private static Set<Integer> pids(Collection<ProcessFacts> processes) {
        return processes.stream().map(ProcessFacts::pid).collect(Collectors.toSet());
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
}
