package dev.genv.enforcer.policy.definition;

/** What the service does about the violations of a rule. */
public enum RuleMode {
    /** The rule is not checked. */
    OFF,
    /** Violations are reported only. */
    AUDIT,
    /** Violations are reported, and the service acts on them. */
    ENFORCE
}
