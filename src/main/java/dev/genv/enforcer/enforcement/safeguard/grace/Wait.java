package dev.genv.enforcer.enforcement.safeguard.grace;

import dev.genv.enforcer.enforcement.action.WaitReason;
import java.time.Duration;
import java.util.Optional;

/**
 * An action that must still wait.
 *
 * @param reason the same for people, as a clause
 * @param left the shortest time that it still waits after the observation; empty if it does not end by itself
 */
public record Wait(WaitReason because, String reason, Optional<Duration> left) {
    /** Creates a wait that ends after this time. */
    static Wait endingAfter(Duration left, WaitReason because, String reason) {
        return new Wait(because, reason, Optional.of(left));
    }

    /** Creates a wait that lasts until the state or the process changes. */
    static Wait endless(WaitReason because, String reason) {
        return new Wait(because, reason, Optional.empty());
    }
}
