package dev.genv.enforcer.enforcement.safeguard.grace;

import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.Optional;

/** A time that must pass before the service acts on a violation. */
public interface Grace {
    /** Returns the wait of the action for this violation; empty if the grace has passed or does not apply. */
    Optional<Wait> check(Violation cause, Action action, Evidence evidence);
}
