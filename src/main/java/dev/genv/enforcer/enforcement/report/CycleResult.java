package dev.genv.enforcer.enforcement.report;

import java.util.Locale;

/** The result of a cycle. */
public enum CycleResult {
    /** Every host was observed completely, and every action succeeded. */
    SUCCESS,
    /** A host or a part of one could not be observed. */
    INCOMPLETE,
    /** Every host was observed completely, but an action failed. */
    ACTION_FAILED,
    /** The cycle failed. */
    FAILED;

    /** The name in metrics, such as {@code success}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
