package dev.genv.enforcer.notification.webhook;

import java.time.Duration;
import java.util.Optional;

/** The result of one request. */
sealed interface Reply {
    /** The receiver accepted the event. */
    record Accepted() implements Reply {}

    /** The receiver wants no more events (410). */
    record Gone() implements Reply {}

    /**
     * The event was not accepted, and may be accepted later.
     *
     * @param asked how long the receiver asks to wait; empty if it does not say
     */
    record Failed(String why, Optional<Duration> asked) implements Reply {}

    /**
     * The receiver refuses this event (400, 413 or 422), and perhaps accepts others.
     *
     * @param asked how long the receiver asks to wait; empty if it does not say
     */
    record Refused(String why, Optional<Duration> asked) implements Reply {}
}
