package dev.genv.enforcer.policy.definition;

import java.util.Locale;

/** The rules in the order of their checks: later rules treat a process that an earlier rule terminates as gone. */
public enum RuleDefinition {
    NON_ENV_PROCESSES,
    INACTIVE_ENV_PROCESSES,
    ENV_DEVICES,
    MAX_DEVICES_PER_USER,
    ENV_MEMORY,
    ENV_OWNER;

    /** The name in reports, such as {@code env-devices}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
