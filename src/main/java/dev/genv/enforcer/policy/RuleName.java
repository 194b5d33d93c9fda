package dev.genv.enforcer.policy;

import java.util.Locale;

/** The rules, in the order in which they are applied: what an earlier one ends counts for the later ones. */
public enum RuleName {
    NON_ENV_PROCESSES,
    INACTIVE_ENV_PROCESSES,
    ENV_DEVICES,
    MAX_DEVICES_PER_USER,
    ENV_MEMORY,
    ENV_OWNER;

    /** The name that people read, such as {@code env-devices}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
