package dev.genv.enforcer.policy;

/** What becomes of a rule's violations. */
public enum RuleMode {
    /** Nobody looks for them. */
    OFF,
    /** They are reported, and nothing is done. */
    AUDIT,
    /** They are reported, and ended. */
    ENFORCE
}
