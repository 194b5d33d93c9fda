package dev.genv.enforcer.policy.definition;

/** What a violation of a rule extends over. */
public enum RuleScope {
    /** One host. The violation is over when its processes exited, or when the host was observed and it was not found. */
    HOST,
    /**
     * All hosts on which one user holds devices. The recorded attachments decide, so the exit of processes does not end the
     * violation.
     */
    FLEET
}
