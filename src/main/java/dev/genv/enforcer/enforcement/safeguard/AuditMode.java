package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/** A service in audit mode executes no action. */
record AuditMode(ServiceMode mode) implements Safeguard {
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return mode == ServiceMode.AUDIT
                ? Optional.of(new Order.Skip(planned, Outcome.SKIPPED_AUDIT, "the service only audits"))
                : Optional.empty();
    }
}
