package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Plan;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a cycle saw, decided and did.
 *
 * @param actions a record of each action of the plan but those to processes that were asked before
 * @param appeared the violations that nobody had seen before
 * @param error why it broke off; null where it did not
 */
public record CycleReport(
        Instant startedAt,
        Duration duration,
        CycleResult result,
        Fleet fleet,
        List<HostReport> hosts,
        Plan plan,
        List<ActionRecord> actions,
        List<JournalEntry> appeared,
        @Nullable String error) {

    /** The problems that hide nothing and prevent no action in this cycle. Where they do, another problem reports it. */
    private static final Set<ProblemCode> HARMLESS_PROBLEMS = Set.of(
            ProblemCode.MISSING_PRIVILEGE,
            ProblemCode.SETTING_USER_UNKNOWN,
            ProblemCode.IDENTITIES_UNKNOWN,
            ProblemCode.DUPLICATE_HOST,
            ProblemCode.TERMINATION_LIMIT_REACHED);

    /** Whether every host was seen completely. */
    public boolean isComplete() {
        return result == CycleResult.SUCCESS || result == CycleResult.ACTION_FAILED;
    }

    /** Why this is not all that there was to see and to do, in sentences; what became of the actions is not among them. */
    public List<String> shortcomings() {
        var problems = hosts.stream().flatMap(host -> ProblemLog.lines(host, HARMLESS_PROBLEMS));
        return LogLines.bounded(
                Stream.concat(Stream.ofNullable(error), problems).toList(), "problems");
    }

    /** genv's words for it, a line each: the violations, then the terminations, then the detachments. */
    public List<String> lines() {
        return ReportLines.of(this);
    }
}
