package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/** An action that only audited rules ask for is not executed. */
final class AuditedRule implements Safeguard {
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return planned.enforced()
                ? Optional.empty()
                : Optional.of(new Order.Skip(planned, Outcome.SKIPPED_AUDIT, "the rule only audits"));
    }
}
