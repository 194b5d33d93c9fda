package dev.genv.enforcer.enforcement.host;

import dev.genv.enforcer.model.Labelled;

/** The outcome of an action. A failure is a value too. */
public enum Outcome implements Labelled {
    /** The process was signalled. */
    SIGNALLED,
    /** The signalled process has exited. */
    EXITED,
    /** The process had exited before the signal. */
    ALREADY_GONE,
    /** The service lacks the permission to signal the process. */
    DENIED,
    /** The process still exists long after SIGKILL: the kernel does not remove it. */
    UNKILLABLE,
    /** The attachment was removed from the state. */
    DETACHED,
    /** The attachment was already gone. */
    ALREADY_DETACHED,
    /** The service or the rule only audits. */
    SKIPPED_AUDIT,
    /** The process is never terminated. */
    SKIPPED_PROTECTED,
    /** The process or environment belongs to an exempt user. */
    SKIPPED_EXEMPT,
    /** The service lacks the privilege to terminate a process that the action would leave running. */
    SKIPPED_PRIVILEGE,
    /** The termination limit of this cycle is reached. */
    SKIPPED_LIMIT,
    /** A grace period has not passed. */
    SKIPPED_GRACE,
    /** An earlier run of the service may have signalled the process. */
    SKIPPED_UNCONFIRMED,
    /** The observation became too old before the action. */
    SKIPPED_STALE,
    /** The action failed; the detail says why. */
    FAILED;

    /** Whether the action was not attempted. */
    public boolean isSkipped() {
        return switch (this) {
            case SKIPPED_AUDIT,
                    SKIPPED_PROTECTED,
                    SKIPPED_EXEMPT,
                    SKIPPED_PRIVILEGE,
                    SKIPPED_LIMIT,
                    SKIPPED_GRACE,
                    SKIPPED_UNCONFIRMED,
                    SKIPPED_STALE -> true;
            case SIGNALLED, EXITED, ALREADY_GONE, DENIED, UNKILLABLE, DETACHED, ALREADY_DETACHED, FAILED -> false;
        };
    }

    /** Whether the action had an effect, so that each one is recorded. */
    public boolean hasEffect() {
        return this == SIGNALLED || this == DETACHED;
    }

    /** Whether the action was attempted without success. */
    public boolean isFailure() {
        return this == DENIED || this == FAILED || this == UNKILLABLE;
    }
}
