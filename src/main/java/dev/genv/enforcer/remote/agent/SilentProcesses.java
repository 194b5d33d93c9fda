package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.format.linux.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * The processes of a machine whose environ did not answer. They are skipped for a while. If a user has many of them, all other
 * processes of that user are skipped too, so that no user takes up the time of the others.
 */
final class SilentProcesses {
    static final int MAX_OF_A_USER = 8;
    private static final long ROOT = 0;

    private final HangBackoff<ProcessId> backoff;
    /** The owners of the processes of the last observation. */
    private Map<ProcessId, Long> owners = Map.of();

    SilentProcesses(LongSupplier nanos) {
        backoff = new HangBackoff<>(nanos);
    }

    /** Returns the processes to skip. */
    Set<ProcessId> skipped() {
        var skipped = new HashSet<>(backoff.paused());
        var counts = owners.entrySet().stream()
                .filter(process -> skipped.contains(process.getKey()))
                .collect(Collectors.groupingBy(Map.Entry::getValue, Collectors.counting()));
        owners.entrySet().stream()
                .filter(process -> process.getValue() != ROOT)
                .filter(process -> counts.getOrDefault(process.getValue(), 0L) >= MAX_OF_A_USER)
                .forEach(process -> skipped.add(process.getKey()));
        return skipped;
    }

    /**
     * Records an observation.
     *
     * @param skipped the processes that were skipped; another process may have the pid of one of them by now
     */
    void record(List<ProcessFacts> processes, Set<ProcessId> skipped) {
        var now = new HashMap<ProcessId, Long>();
        for (var process : processes) {
            stat(process).filter(stat -> !stat.isZombie()).ifPresent(stat -> {
                var id = new ProcessId(process.pid(), stat.startTime());
                now.put(id, owner(process.uid()));
                record(id, process.environ());
            });
            skipped.stream()
                    .filter(former -> former.pid() == process.pid() && hasEnded(former, process))
                    .forEach(backoff::recordAnswer);
        }
        owners = now;
    }

    private void record(ProcessId id, Reading<EnvironFacts> environ) {
        var failure = environ instanceof Reading.Failed(var why, var _) ? why : null;
        if (failure == Failure.TIMEOUT) {
            backoff.recordHang(id);
        } else if (failure != Failure.SKIPPED && failure != Failure.NO_TIME) {
            backoff.recordAnswer(id);
        }
    }

    private static boolean hasEnded(ProcessId former, ProcessFacts process) {
        return process.before() instanceof Reading.Failed(var why, var _)
                ? why == Failure.ABSENT
                : stat(process)
                        .filter(stat -> stat.isZombie() || stat.startTime() != former.startTime())
                        .isPresent();
    }

    private static Optional<ProcStat> stat(ProcessFacts process) {
        try {
            return process.before() instanceof Reading.Value<Bytes>(var text)
                    ? Optional.of(ProcStat.parse(text.text()))
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Processes of root may be those of many people, each in a container; so may processes with an unknown uid. */
    private static long owner(Reading<Long> uid) {
        return uid instanceof Reading.Value<Long>(var known) ? known : ROOT;
    }
}
