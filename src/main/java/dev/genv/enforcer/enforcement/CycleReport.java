package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Plan;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
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

    /** Whether every host was seen completely. */
    public boolean isComplete() {
        return result == CycleResult.SUCCESS || result == CycleResult.ACTION_FAILED;
    }

    /** genv's words for it, a line each: the violations, then the terminations, then the detachments. */
    public List<String> lines() {
        return ReportLines.of(this);
    }
}
