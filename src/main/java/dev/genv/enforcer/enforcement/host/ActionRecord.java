package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Instant;

/**
 * An action and its result. While it is executed, the result is {@link Result#UNKNOWN}.
 *
 * @param id higher than that of every earlier action; 0 for one that was not begun, because it was held back or only observed
 */
public record ActionRecord(long id, PlannedAction planned, Result result, Instant at) {
    /** An action that was not begun. */
    public ActionRecord(PlannedAction planned, Result result, Instant at) {
        this(0, planned, result, at);
    }
}
