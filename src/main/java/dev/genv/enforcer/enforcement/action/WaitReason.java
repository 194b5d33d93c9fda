package dev.genv.enforcer.enforcement.action;

import java.util.Locale;

/** Why the service has not executed an action yet. */
public enum WaitReason {
    /** The violation was not observed for the grace period. */
    GRACE,
    /** The process got SIGTERM and has time to exit. */
    KILL_AFTER,
    /** It is unknown whether the process got SIGTERM, because the answer of its host was lost. */
    UNCONFIRMED_SIGNAL,
    /** The termination limit of the cycle is reached. */
    TERMINATION_LIMIT,
    /** The action failed, or its observation became too old: the next cycle decides again. */
    NEXT_CYCLE;

    /** The name in reports, such as {@code kill_after}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
