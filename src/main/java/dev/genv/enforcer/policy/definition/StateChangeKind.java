package dev.genv.enforcer.policy.definition;

/**
 * A change of genv's state that can make a process break a rule without doing anything. Every user can write the state, so a
 * violation that exists only because of such a change is enforced only after the state-change grace.
 */
public enum StateChangeKind {
    /** The pid of a process was removed from the environment that listed it. */
    PID_REMOVED,
    /** The environment ended. A rule that declares it terminates processes because their environment is not active. */
    ENVIRONMENT_ENDED,
    /** The environment was added after the process started. */
    ENVIRONMENT_ADDED,
    /** A device was detached from the environment. */
    ATTACHMENT_REMOVED,
    /** The memory capacity of the environment was reduced. */
    CAPACITY_REDUCED,
    /** The environment became another user's, in whose quota it counts now. */
    OWNER_CHANGED,
    /** An attachment began to count in the quota of the user. */
    QUOTA_INCREASED,
    /**
     * The recorded owner of the environment is forged, perhaps since before the first observation. So the grace applies to every
     * process that the rule terminates as a stranger in an environment of another user.
     */
    OWNER_FORGED
}
