package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The observation of one host in a cycle.
 *
 * @param lastObserved when it last answered; null if it never did
 * @param duration how long this observation took
 * @param gpuSource the source of the GPU data; null if the host did not answer
 * @param problems the problems of the observation and of the rules
 * @param ticks when the state was read, in clock ticks since boot; 0 if it was not read
 * @param ended the verified processes that have exited
 * @param missingPrivileges the privileges that the service lacks on it, such as {@code SYS_PTRACE}; each is also a problem
 * @param readOnlyReason why no action may be executed on it; null if actions may be executed
 * @param machine an id of the machine that does not depend on its name; null if unknown
 * @param lockWait how long the observation waited for genv's lock; null if it did not, or if that is unknown
 * @param stateChangedAt when the state was last changed, in clock ticks since boot; null if unknown
 */
public record HostReport(
        Snapshot snapshot,
        boolean reached,
        @Nullable Instant lastObserved,
        Duration duration,
        @Nullable String gpuSource,
        @Nullable String driver,
        List<Problem> problems,
        long ticks,
        Set<ProcessId> ended,
        List<String> missingPrivileges,
        @Nullable String readOnlyReason,
        @Nullable String machine,
        @Nullable Duration lockWait,
        @Nullable Long stateChangedAt) {

    /** Creates the report of a host that gave no answer. */
    public static HostReport unreachable(Snapshot unseen, @Nullable Instant lastObserved, Duration duration) {
        return new HostReport(
                unseen,
                false,
                lastObserved,
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

    public HostReport withProblems(List<Problem> all) {
        return with(snapshot, all, missingPrivileges);
    }

    /** Returns the report with more missing privileges. Their problems come first, because the number of reported problems is limited. */
    public HostReport withMissingPrivileges(List<String> privileges, List<Problem> why) {
        var all = Stream.concat(why.stream(), problems.stream()).toList();
        return with(
                snapshot,
                all,
                Stream.concat(missingPrivileges.stream(), privileges.stream()).toList());
    }

    /** Returns the same report with another snapshot. */
    HostReport with(Snapshot other) {
        return with(other, other.problems(), missingPrivileges);
    }

    private HostReport with(Snapshot other, List<Problem> all, List<String> lacking) {
        return new HostReport(
                other,
                reached,
                lastObserved,
                duration,
                gpuSource,
                driver,
                all,
                ticks,
                ended,
                lacking,
                readOnlyReason,
                machine,
                lockWait,
                stateChangedAt);
    }
}
