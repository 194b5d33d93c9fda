package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.observation.Listings;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.observation.Observation.MachineStatus;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The observation of one host in a cycle.
 *
 * @param answer what the host answered; empty if it gave no answer
 * @param lastObserved when it last answered; null if it never did
 * @param problems the problems of the observation and of the rules
 * @param missingPrivileges the privileges that the service lacks on it, such as {@code SYS_PTRACE}; each is also a problem
 */
public record HostReport(
        Snapshot snapshot,
        Optional<Observation> answer,
        @Nullable Instant lastObserved,
        Duration duration,
        List<Problem> problems,
        List<String> missingPrivileges) {
    public static HostReport observed(Observation answer, Instant at, Duration duration) {
        var snapshot = answer.snapshot();
        return new HostReport(
                snapshot, Optional.of(answer), at, duration, snapshot.problems(), answer.missingPrivileges());
    }

    public static HostReport unreachable(Snapshot unseen, @Nullable Instant lastObserved, Duration duration) {
        return new HostReport(unseen, Optional.empty(), lastObserved, duration, unseen.problems(), List.of());
    }

    public String host() {
        return snapshot.host();
    }

    public boolean reached() {
        return answer.isPresent();
    }

    public boolean isComplete() {
        return reached() && snapshot.isComplete();
    }

    /** The version of the GPU driver; null if unknown. */
    public @Nullable String driver() {
        return answer.map(Observation::driver).orElse(null);
    }

    /** When the state was read, in clock ticks since boot; 0 if it was not read. */
    public long ticks() {
        return answer.map(Observation::ticks).orElse(0L);
    }

    /** The verified processes that have exited. */
    public Set<ProcessId> ended() {
        return answer.map(Observation::ended).orElse(Set.of());
    }

    /** Why no action may be executed on it; null if actions may be executed. */
    public @Nullable String readOnlyReason() {
        return answer.map(Observation::readOnlyReason).orElse(null);
    }

    /** An id of the machine that does not depend on its name; null if unknown. */
    public @Nullable String machine() {
        return answer.map(Observation::machine).orElse(null);
    }

    /** How long the observation waited for genv's lock; null if it did not, or if that is unknown. */
    public @Nullable Duration lockWait() {
        return answer.map(Observation::lockWait).orElse(null);
    }

    /** The pids that environments list or listed. */
    public Listings listings() {
        return answer.map(Observation::listings).orElse(Listings.NONE);
    }

    /** Whether its machine counts under another name, so that nothing was observed of this host. */
    public boolean isDuplicate() {
        return snapshot.problems().stream().anyMatch(problem -> problem.code() == ProblemCode.DUPLICATE_HOST);
    }

    /** The local accounts of the host; none if they are unknown. */
    public Accounts accounts() {
        return answer.map(Observation::accounts).orElse(Accounts.NONE);
    }

    /** What is observed only for those who watch the host. */
    public MachineStatus status() {
        return answer.map(Observation::status).orElse(MachineStatus.UNKNOWN);
    }

    public HostReport withProblems(List<Problem> all) {
        return new HostReport(snapshot, answer, lastObserved, duration, all, missingPrivileges);
    }

    /** Returns the report with more missing privileges. Their problems come first, because the number of reported problems is limited. */
    public HostReport withMissingPrivileges(List<String> privileges, List<Problem> why) {
        var all = Stream.concat(why.stream(), problems.stream()).toList();
        var missing =
                Stream.concat(missingPrivileges.stream(), privileges.stream()).toList();
        return new HostReport(snapshot, answer, lastObserved, duration, all, missing);
    }

    HostReport with(Snapshot other) {
        return new HostReport(other, answer, lastObserved, duration, other.problems(), missingPrivileges);
    }
}
