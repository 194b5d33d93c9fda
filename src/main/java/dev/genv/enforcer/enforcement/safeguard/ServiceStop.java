package dev.genv.enforcer.enforcement.safeguard;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Optional;

/** A service that is being stopped starts no further action. */
final class ServiceStop implements Safeguard {
    private volatile boolean stopped;

    /** Holds back every action from now on. */
    void stop() {
        stopped = true;
    }

    @Override
    public Optional<Order.Skip> check(PlannedAction planned, Evidence evidence) {
        return stopped
                ? Optional.of(new Order.Skip(planned, Outcome.FAILED, "the service is being stopped"))
                : Optional.empty();
    }
}
