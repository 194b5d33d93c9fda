package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How the look at one host went.
 *
 * @param lastLook when it last answered; null where it never did
 * @param duration how long this look took
 * @param gpuSource what told us about its GPUs; null where it did not answer
 * @param problems what was found in looking and in judging
 * @param ticks when the state was read, in clock ticks since boot; 0 where it was not
 * @param ended the verified processes that have ended
 * @param missingRights what the service lacks on it, such as {@code SYS_PTRACE}
 * @param watchesOnly why nothing may be done on it; null where it may
 * @param machine what tells the machine from every other one; null where that is not known
 * @param lockWait how long the look waited for genv's lock; null where it did not, or that is not known
 * @param stateChangedAt when the state was last changed, in clock ticks since boot; null where that is not known
 */
public record HostReport(
        Snapshot snapshot,
        boolean reached,
        @Nullable Instant lastLook,
        Duration duration,
        @Nullable String gpuSource,
        @Nullable String driver,
        List<Problem> problems,
        long ticks,
        Set<ProcessId> ended,
        List<String> missingRights,
        @Nullable String watchesOnly,
        @Nullable String machine,
        @Nullable Duration lockWait,
        @Nullable Long stateChangedAt) {

    /** Of a host that gave no answer. */
    static HostReport unreachable(Snapshot unseen, @Nullable Instant lastLook, Duration duration) {
        return new HostReport(
                unseen,
                false,
                lastLook,
                duration,
                null,
                null,
                unseen.problems(),
                0,
                Set.of(),
                List.of(),
                null,
                null,
                null,
                null);
    }

    public String host() {
        return snapshot.host();
    }

    public boolean isComplete() {
        return reached && snapshot.isComplete();
    }

    HostReport withProblems(List<Problem> all) {
        return with(snapshot, all);
    }

    /** The same with something else to be seen. */
    HostReport with(Snapshot other) {
        return with(other, other.problems());
    }

    private HostReport with(Snapshot other, List<Problem> all) {
        return new HostReport(
                other,
                reached,
                lastLook,
                duration,
                gpuSource,
                driver,
                all,
                ticks,
                ended,
                missingRights,
                watchesOnly,
                machine,
                lockWait,
                stateChangedAt);
    }
}
