package dev.genv.enforcer.enforcement;

import java.util.Locale;

/** How a cycle went. */
public enum CycleResult {
    /** Everything was seen and everything that was to be done could be done. */
    SUCCESS,
    /** Some host, or a part of one, could not be seen. */
    INCOMPLETE,
    /** Everything was seen, but something that was to be done could not be. */
    ACTION_FAILED,
    /** The cycle broke off. */
    FAILED;

    /** The name in metrics, such as {@code success}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
