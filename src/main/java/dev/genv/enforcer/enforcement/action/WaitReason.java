package dev.genv.enforcer.enforcement.action;

import java.util.Locale;

/** Why the service has not executed an action yet. */
public enum WaitReason {
    /** The violation has not lasted for the grace period. */
    GRACE_PERIOD,
    /** The violation rests on a change of the state, which must be reported for the state-change grace. */
    STATE_CHANGE_GRACE,
    /** The state may have been changed before the service observed it, so the service observes it for the state-change grace. */
    OBSERVATION_GRACE,
    /** The process must be observed in an environment of another user for the state-change grace. */
    STRANGER_GRACE,
    /** The process got SIGTERM and has time to exit. */
    KILL_AFTER,
    /** It is unknown whether the process got SIGTERM, because the answer of its host was lost. */
    UNCONFIRMED_SIGNAL,
    /** The termination limit of the cycle is reached. */
    TERMINATION_LIMIT,
    /** The action failed, or its observation became too old: the next cycle decides again. */
    NEXT_CYCLE;

    /** The name in reports, such as {@code grace_period}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
