package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/** No action is executed on a host that forbids it, for example because another enforcer acts there. */
final class ReadOnlyHost implements Safeguard {
    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return evidence.seen()
                .host(planned.action().host())
                .map(HostReport::readOnlyReason)
                .map(reason -> new Order.Skip(planned, Outcome.SKIPPED_AUDIT, reason));
    }
}
