package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Labelled;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a cycle observed, decided and executed.
 *
 * @param fleet what it observed, with the problems of the rules and of the service too
 * @param actions a record of each action of the plan except those on processes that were signalled before
 * @param error why the cycle failed; null if it did not
 */
public record CycleReport(
        Instant startedAt,
        Duration duration,
        CycleResult result,
        Fleet fleet,
        Plan plan,
        List<ActionRecord> actions,
        List<ViolationRecord> appeared,
        @Nullable String error) {
    /** The problems that hide no data and prevent no action in this cycle. If they do, another problem reports it. */
    private static final Set<ProblemCode> HARMLESS_PROBLEMS = Set.of(
            ProblemCode.MISSING_PRIVILEGE,
            ProblemCode.SETTING_USER_UNKNOWN,
            ProblemCode.DUPLICATE_HOST,
            ProblemCode.DEVICE_STATUS_UNKNOWN,
            ProblemCode.TERMINATION_LIMIT_REACHED);

    /** Without a user whom a setting exempts, actions are held. */
    private static final Set<ProblemCode> HARMLESS_OTHERS = HARMLESS_PROBLEMS.stream()
            .filter(code -> code != ProblemCode.SETTING_USER_UNKNOWN)
            .collect(Collectors.toUnmodifiableSet());

    /** Whether every host was observed completely. */
    public boolean isComplete() {
        return result == CycleResult.SUCCESS || result == CycleResult.ACTION_FAILED;
    }

    /** Returns why the observation is incomplete, in sentences; results of actions are not included. */
    public List<String> incompletenessReasons() {
        var problems = fleet.snapshots().stream()
                .flatMap(host -> ProblemLog.lines(
                        host, host.has(SnapshotPart.EXEMPT_USERS) ? HARMLESS_PROBLEMS : HARMLESS_OTHERS));
        return ActionLog.limit(Stream.concat(Stream.ofNullable(error), problems).toList(), "problems");
    }

    /** Returns the cycle in genv's words: violations, then terminations, then detachments. */
    public List<String> lines() {
        return ActionLog.lines(this);
    }

    /** The result of a cycle. */
    public enum CycleResult implements Labelled {
        /** Every host was observed completely, and every action succeeded. */
        SUCCESS,
        /** A host or a part of one could not be observed. */
        INCOMPLETE,
        /** Every host was observed completely, but an action failed. */
        ACTION_FAILED,
        /** The cycle failed. */
        FAILED
    }
}
