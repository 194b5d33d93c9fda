package dev.genv.enforcer.enforcement;

import java.util.Locale;

/** How an action ended. A failure is a value too. */
public enum Outcome {
    /** The process was asked to end. */
    SIGNALLED,
    /** The process that was asked has ended. */
    EXITED,
    /** The process had ended before it could be asked. */
    ALREADY_GONE,
    /** We may not signal this process. */
    DENIED,
    /** The process is still there long after SIGKILL: the kernel holds on to it. */
    UNKILLABLE,
    /** The attachment was taken out of the state. */
    DETACHED,
    /** Somebody else had taken it out before. */
    ALREADY_DETACHED,
    /** The service or the rule only audits. */
    SKIPPED_AUDIT,
    /** This process is never ended. */
    SKIPPED_PROTECTED,
    /** This process, or this environment, is a user's of whom nothing is ended. */
    SKIPPED_EXEMPT,
    /** The brake: enough was ended in this cycle. */
    SKIPPED_LIMIT,
    /** It is not yet time. */
    SKIPPED_GRACE,
    /** It could not be done; the detail says why. */
    FAILED;

    /** The name in reports, such as {@code already_gone}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Whether nothing was even tried. */
    public boolean isSkipped() {
        return switch (this) {
            case SKIPPED_AUDIT, SKIPPED_PROTECTED, SKIPPED_EXEMPT, SKIPPED_LIMIT, SKIPPED_GRACE -> true;
            case SIGNALLED, EXITED, ALREADY_GONE, DENIED, UNKILLABLE, DETACHED, ALREADY_DETACHED, FAILED -> false;
        };
    }

    /** Whether something was done, which is a deed of its own each time. */
    public boolean isDeed() {
        return this == SIGNALLED || this == DETACHED;
    }

    /** Whether this is something that was wanted and could not be had. */
    public boolean isFailure() {
        return this == DENIED || this == FAILED || this == UNKILLABLE;
    }
}
