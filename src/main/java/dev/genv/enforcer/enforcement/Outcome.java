package dev.genv.enforcer.enforcement;

import java.util.Locale;

/** How an action ended. A failure is a value too. */
public enum Outcome {
    /** The process was asked to end. */
    SIGNALLED,
    /** The process had ended before it could be asked. */
    ALREADY_GONE,
    /** We may not signal this process. */
    DENIED,
    /** The attachment was taken out of the state. */
    DETACHED,
    /** Somebody else had taken it out before. */
    ALREADY_DETACHED,
    /** The service or the rule only audits. */
    SKIPPED_AUDIT,
    /** This process is never ended. */
    SKIPPED_PROTECTED,
    /** It could not be done; the detail says why. */
    FAILED;

    /** The name in reports, such as {@code already_gone}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether this is something that was wanted and could not be had. */
    public boolean isFailure() {
        return this == DENIED || this == FAILED;
    }
}
