package dev.genv.enforcer.policy.plan;

/** The signal that terminates a process. */
public enum Signal {
    /** SIGTERM: the process may clean up. */
    TERM,
    /** SIGKILL: sent to a process that continued to break rules after SIGTERM. */
    KILL
}
