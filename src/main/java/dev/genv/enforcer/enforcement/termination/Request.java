package dev.genv.enforcer.enforcement.termination;

import dev.genv.enforcer.policy.plan.PlannedAction;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The request to a process to exit, and how long it has not obeyed.
 *
 * @param last the last action on it
 * @param at when it got the first signal, by the mark of the clock that counts towards an action
 * @param brokenFor how long it has continued to break rules; time after an observation without a violation does not count
 * @param brokenSince when it was last found to break a rule; null if it broke none since
 * @param unseen whether an observation after that was incomplete
 */
record Request(
        PlannedAction last,
        long at,
        Duration brokenFor,
        @Nullable Long brokenSince,
        boolean unseen) {
    /** A request that is made now. */
    static Request of(PlannedAction planned, long now) {
        return new Request(planned, now, Duration.ZERO, now, false);
    }

    Duration age(long now) {
        return Duration.ofNanos(now - at);
    }

    Request with(PlannedAction planned) {
        return new Request(planned, at, brokenFor, brokenSince, unseen);
    }

    Request breaksRules(long now, TerminationTimes times) {
        var more = sinceBroken(now);
        return new Request(last, at, brokenFor.plus(unseen ? times.limitUnobserved(more) : more), now, false);
    }

    /** The moment at which it stopped to break rules is unknown, so the time since the last observation counts. */
    Request complies(long now, TerminationTimes times) {
        return new Request(last, at, brokenFor.plus(times.limitUnobserved(sinceBroken(now))), null, false);
    }

    Request unobserved() {
        return new Request(last, at, brokenFor, brokenSince, true);
    }

    private Duration sinceBroken(long now) {
        return brokenSince == null ? Duration.ZERO : Duration.ofNanos(now - brokenSince);
    }
}
