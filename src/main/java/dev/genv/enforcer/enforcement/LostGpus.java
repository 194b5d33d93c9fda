package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.ProblemCode;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Counts for how many cycles in a row our own machine's GPUs have been out of reach for good. */
public final class LostGpus {
    /** One failure may be a driver that is just being loaded. */
    private static final int ENOUGH = 3;

    private volatile Loss loss = new Loss(0, null);

    private record Loss(int cycles, @Nullable String reason) {}

    /** Takes in a cycle. One in which the machine was not seen says nothing; another machine's container is not ours. */
    public void record(CycleReport report) {
        if (report.fleet().remote()) {
            return;
        }
        report.hosts().stream().filter(HostReport::reached).findFirst().ifPresent(this::record);
    }

    private void record(HostReport host) {
        // Not those that are shown: of them there is a bound, and users choose how many others there are.
        loss = host.snapshot().problems().stream()
                .filter(problem -> problem.code() == ProblemCode.GPU_NEEDS_NEW_CONTAINER)
                .findFirst()
                .map(problem -> new Loss(Math.min(loss.cycles + 1, ENOUGH), problem.detail()))
                .orElseGet(() -> new Loss(0, null));
    }

    /** Why only a new start of the container helps; nothing as long as there is hope. */
    public Optional<String> reason() {
        var now = loss;
        return now.cycles < ENOUGH ? Optional.empty() : Optional.ofNullable(now.reason);
    }
}
