package dev.genv.enforcer.policy.definition;

/**
 * How a rule is configured.
 *
 * @param limits {@link Limits#NONE} for a rule without a limit
 */
public record RuleConfig(RuleMode mode, Limits limits) {
    public static final RuleConfig OFF = of(RuleMode.OFF);

    /** Creates the configuration of a rule without limits. */
    public static RuleConfig of(RuleMode mode) {
        return new RuleConfig(mode, Limits.NONE);
    }
}
