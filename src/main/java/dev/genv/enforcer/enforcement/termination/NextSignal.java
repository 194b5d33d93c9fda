package dev.genv.enforcer.enforcement.termination;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.Set;

/**
 * The signal that a process gets if it continues to break rules.
 *
 * @param causes the violations for which it got the last signal
 * @param left the shortest time until the signal, from now on
 */
public record NextSignal(Action.Terminate action, Set<Violation.Key> causes, WaitReason because, Duration left) {}
