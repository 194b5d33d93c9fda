package dev.genv.enforcer.policy;

/** How a process is ended. */
public enum Signal {
    /** It is asked to. */
    TERM,
    /** It was asked and did not: it has no choice any more. */
    KILL
}
