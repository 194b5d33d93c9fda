package dev.genv.enforcer.enforcement.termination;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The times of a termination.
 *
 * @param killAfter how long a process must continue to break rules before SIGKILL; null for never
 * @param compliancePeriod how long a process must break no rule before it is forgotten
 */
public record TerminationTimes(@Nullable Duration killAfter, Duration compliancePeriod) {
    /** How long rules treat a signalled process as gone if SIGKILL is disabled. */
    private static final Duration COUNTS_AS_FREED = Duration.ofSeconds(60);

    /** Whether rules treat a signalled process as gone at this time after its first signal. A later SIGKILL makes it go in any case. */
    boolean isExpectedToExit(Duration age) {
        return killAfter != null || age.compareTo(COUNTS_AS_FREED) < 0;
    }

    boolean isKillDue(Duration brokenFor) {
        return killAfter != null && brokenFor.compareTo(killAfter) >= 0;
    }

    /** Whether SIGKILL became due so recently that rules still treat the process as gone. */
    boolean isKillRecent(Duration brokenFor) {
        return brokenFor.compareTo(afterSignal().plus(Termination.PROCESS_REMOVAL_TIME)) < 0;
    }

    /** Whether a process that may not have got SIGTERM gets it again. */
    boolean isOver(Duration brokenFor) {
        return brokenFor.compareTo(afterSignal()) >= 0;
    }

    /** How long a process must continue to break rules after a signal before it gets the next one, if it gets one. */
    Duration afterSignal() {
        return Objects.requireNonNullElse(killAfter, COUNTS_AS_FREED);
    }

    /** Returns what counts of a time during which the process was not observed: at most half of the time until SIGKILL. */
    Duration limitUnobserved(Duration time) {
        return killAfter == null || time.compareTo(killAfter.dividedBy(2)) <= 0 ? time : killAfter.dividedBy(2);
    }
}
