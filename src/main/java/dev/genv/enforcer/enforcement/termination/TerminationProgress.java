package dev.genv.enforcer.enforcement.termination;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Action.Signal;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Violation;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/**
 * How far a termination has come.
 *
 * @param last the last action on it
 * @param at when it got the first signal, by the mark of the clock that counts towards an action
 * @param brokenFor how long it has continued to break rules; time after an observation without a violation does not count
 * @param brokenSince when it was last found to break a rule; empty if it broke none since
 * @param unseen whether an observation after that was incomplete
 */
public record TerminationProgress(
        PlannedAction last, long at, Duration brokenFor, OptionalLong brokenSince, boolean unseen) {
    /** The process got its first signal now. */
    static TerminationProgress of(PlannedAction planned, long now) {
        return new TerminationProgress(planned, now, Duration.ZERO, OptionalLong.of(now), false);
    }

    /** Moves the broken time into the moment, so that the value stays the same as long as every cycle finds the process. */
    TerminationProgress toSave() {
        return brokenSince.isPresent() && !unseen
                ? new TerminationProgress(
                        last, at, Duration.ZERO, OptionalLong.of(brokenSince.getAsLong() - brokenFor.toNanos()), false)
                : this;
    }

    /**
     * Returns the saved progress as it was.
     *
     * @param observed the mark of the last cycle that was saved
     */
    TerminationProgress restore(long observed) {
        if (brokenSince.isEmpty() || unseen) {
            return this;
        }
        var origin = brokenSince.getAsLong();
        var lastBroken = Math.max(origin, observed); // a process that was signalled in that cycle broke a rule after it
        return new TerminationProgress(
                last, at, Duration.ofNanos(lastBroken - origin), OptionalLong.of(lastBroken), false);
    }

    Duration age(long now) {
        return Duration.ofNanos(now - at);
    }

    TerminationProgress with(PlannedAction planned) {
        return new TerminationProgress(planned, at, brokenFor, brokenSince, unseen);
    }

    TerminationProgress breaksRules(long now, TerminationTimes times) {
        var more = sinceBroken(now);
        return new TerminationProgress(
                last, at, brokenFor.plus(unseen ? times.limitUnobserved(more) : more), OptionalLong.of(now), false);
    }

    /** The moment at which it stopped to break rules is unknown, so the time since the last observation counts. */
    TerminationProgress complies(long now, TerminationTimes times) {
        return new TerminationProgress(
                last, at, brokenFor.plus(times.limitUnobserved(sinceBroken(now))), OptionalLong.empty(), false);
    }

    TerminationProgress unobserved() {
        return new TerminationProgress(last, at, brokenFor, brokenSince, true);
    }

    /** Returns the signal that follows when the process has broken rules for the time after a signal. */
    NextSignal next(Signal signal, WaitReason because, long now, TerminationTimes times) {
        var left = times.afterSignal().minus(brokenFor).minus(sinceBroken(now));
        var causes = last.causes().stream().map(Violation::key).collect(Collectors.toUnmodifiableSet());
        // Only a termination is pending.
        var process = ((Action.Terminate) last.action()).process();
        return new NextSignal(
                new Action.Terminate(last.action().host(), process, signal),
                causes,
                because,
                left.isNegative() ? Duration.ZERO : left);
    }

    private Duration sinceBroken(long now) {
        return brokenSince.isPresent() ? Duration.ofNanos(now - brokenSince.getAsLong()) : Duration.ZERO;
    }
}
