package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import jakarta.inject.Singleton;
import java.util.Optional;

/** Counts the consecutive cycles in which the node's GPUs were lost permanently. */
@Singleton
public final class GpuLossDetector implements CycleListener {
    /** A single failure may be a driver that is being loaded. */
    private static final int ENOUGH = 3;

    private volatile Loss loss = Loss.NONE;

    private record Loss(int cycles, Optional<String> reason) {
        static final Loss NONE = new Loss(0, Optional.empty());
    }

    /** Takes over a cycle. A cycle without an observation changes nothing; other machines are ignored. */
    @Override
    public void accept(CycleReport report) {
        if (report.fleet().remote()) {
            return;
        }
        report.fleet().snapshots().stream()
                .filter(Snapshot::isReached)
                .findFirst()
                .ifPresent(this::remember);
    }

    private void remember(Snapshot host) {
        // The limit of reported problems leaves at least one of each code.
        loss = host.problems().stream()
                .filter(problem -> problem.code() == ProblemCode.GPU_NEEDS_NEW_CONTAINER)
                .findFirst()
                .map(problem -> new Loss(Math.min(loss.cycles + 1, ENOUGH), Optional.of(problem.detail())))
                .orElse(Loss.NONE);
    }

    /** Returns why only a restart of the container helps; empty if there is another chance. */
    public Optional<String> reason() {
        var now = loss;
        return now.cycles < ENOUGH ? Optional.empty() : now.reason;
    }
}
