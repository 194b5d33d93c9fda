package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.ProcessFacts;
import dev.genv.enforcer.host.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;

/** The processes of a machine whose environ did not answer. They are skipped for a while. */
final class SilentProcesses {
    private final HangBackoff<ProcessId> backoff;

    SilentProcesses(LongSupplier nanos) {
        backoff = new HangBackoff<>(nanos);
    }

    /** Returns the processes to skip. */
    Set<ProcessId> skipped() {
        return backoff.paused();
    }

    /**
     * Records an observation.
     *
     * @param skipped the processes that were skipped; another process may have the pid of one of them by now
     */
    void record(List<ProcessFacts> processes, Set<ProcessId> skipped) {
        for (var process : processes) {
            stat(process)
                    .filter(stat -> !stat.isZombie())
                    .ifPresent(stat -> record(new ProcessId(process.pid(), stat.startTime()), process.environ()));
            skipped.stream()
                    .filter(former -> former.pid() == process.pid() && hasEnded(former, process))
                    .forEach(backoff::recordAnswer);
        }
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
        return process.before() instanceof Reading.Value<Bytes>(var text)
                ? ProcStat.tryParse(text.text())
                : Optional.empty();
    }
}
