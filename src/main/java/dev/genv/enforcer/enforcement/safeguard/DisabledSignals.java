package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/** genv's own setting forbids all signals, but no detachments. */
record DisabledSignals(boolean signals) implements Safeguard {
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return !signals && planned.action() instanceof Action.Terminate
                ? Optional.of(new Order.Skip(planned, Outcome.SKIPPED_AUDIT, "GENV_TERMINATE_PROCESSES is 0"))
                : Optional.empty();
    }
}
