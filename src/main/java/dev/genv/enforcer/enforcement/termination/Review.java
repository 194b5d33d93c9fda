package dev.genv.enforcer.enforcement.termination;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.rule.Rule.ExpectedExits;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The pending terminations after an observation.
 *
 * @param records the processes that have exited, and those that still exist long after SIGKILL
 * @param kills SIGKILL for the processes that the plan terminates and whose time limit is over
 * @param unconfirmed SIGKILL for processes whose time limit is over, but which the plan does not contain, because rules treat their
 *     memory as freed. They are killed only if the rules choose them again when they are not treated as gone: memory use may have
 *     changed
 * @param signalled the processes that rules treat as gone
 */
public record Review(
        Evidence evidence,
        List<ActionRecord> records,
        List<PlannedAction> kills,
        Map<HostProcess, Action.Terminate> unconfirmed,
        Set<HostProcess> signalled) {
    /** Whether the rules must choose again. */
    public boolean needsSecondCheck() {
        return !unconfirmed.isEmpty();
    }

    /** What the rules know when they choose again: the unconfirmed processes did not exit, and are chosen before others. */
    public ExpectedExits expectedExits() {
        return new ExpectedExits(signalled, unconfirmed.keySet(), Set.of());
    }
}
