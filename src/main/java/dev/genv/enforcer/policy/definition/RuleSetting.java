package dev.genv.enforcer.policy.definition;

/**
 * A setting of a rule.
 *
 * @param name such as {@code env-devices}: the variable is {@code GENV_ENFORCER_ENV_DEVICES}, the field of a plan request {@code
 *     env_devices}, and the value of the chart {@code envDevices}
 * @param meaning sentences for the documentation of the settings, with code in backquotes
 */
public record RuleSetting(String name, Kind kind, String meaning) {
    /** The type of the value. */
    public enum Kind {
        /** A {@link RuleMode}. */
        MODE,
        /** A {@link RuleMode} other than {@link RuleMode#ENFORCE}: the rule has no action. */
        REPORT_MODE,
        /** A whole number from 0; unset for no limit. */
        LIMIT,
        /** A whole number from 0 for each of some users. */
        LIMITS_OF_USERS
    }
}
