package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.host.Order.WaitReason;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The life of a termination, from the first signal until the process has exited or is forgotten.
 *
 * <pre>
 * Asked ──── broke rules for KILL_AFTER ───▶ Overdue ── SIGKILL ──▶ Killed ── 10 s later ──▶ Unkillable
 * PerhapsAsked ── the same ──▶ Forgotten, so it gets SIGTERM again
 * each of these ── breaks no rule ──▶ Compliant ── breaks one again ──▶ as before
 *                                     Compliant ── for the compliance period ──▶ Forgotten
 * each of these ── has exited ──▶ Exited
 * </pre>
 *
 * <p>All transitions are pure functions. Times are marks of the clock that counts towards an action, in nanoseconds.
 */
public sealed interface Termination {
    /** The time that the kernel and the driver need to remove a killed process. */
    Duration PROCESS_REMOVAL_TIME = Duration.ofSeconds(10);
    /** How long after its signal a process of a host that left the list is remembered: the host may return. */
    Duration RETENTION = Duration.ofHours(1);

    /** A process that was signalled, and that has not exited as far as is known. */
    sealed interface Pending extends Termination {
        TerminationProgress progress();

        /** The same state with a changed progress. */
        default Pending change(UnaryOperator<TerminationProgress> change) {
            return switch (this) {
                case Breaking breaking -> breaking.with(change.apply(breaking.progress()));
                case Compliant(var before, var since) ->
                    new Compliant(before.with(change.apply(before.progress())), since);
            };
        }
    }

    /** A process that broke a rule when it was last checked. */
    sealed interface Breaking extends Pending {
        /** The same state with another progress. */
        default Breaking with(TerminationProgress other) {
            return switch (this) {
                case Asked _ -> new Asked(other);
                case PerhapsAsked _ -> new PerhapsAsked(other);
                case Overdue _ -> new Overdue(other);
                case Killed(var _, var at) -> new Killed(other, at);
                case Unkillable(var _, var at) -> new Unkillable(other, at);
            };
        }
    }

    /** SIGTERM was sent. */
    record Asked(TerminationProgress progress) implements Breaking {}

    /**
     * SIGTERM may have been sent; the answer was lost. The process is treated as signalled, because many training programs abort at a
     * second SIGTERM. But it gets no SIGKILL.
     */
    record PerhapsAsked(TerminationProgress progress) implements Breaking {}

    /** It still broke a rule when the time limit after SIGTERM was over: SIGKILL is due. */
    record Overdue(TerminationProgress progress) implements Breaking {}

    /** SIGKILL was sent. */
    record Killed(TerminationProgress progress, long killedAt) implements Breaking {}

    /** It still breaks a rule long after SIGKILL: the kernel does not remove it. */
    record Unkillable(TerminationProgress progress, long killedAt) implements Breaking {}

    /**
     * It breaks no rule. It is not forgotten at once: the GPU tool may temporarily omit it, many training programs abort at a second
     * SIGTERM, and a process may break rules only in every second observation.
     *
     * @param before its state when it last broke a rule
     * @param since when it was first found to break none
     */
    record Compliant(Breaking before, long since) implements Pending {
        @Override
        public TerminationProgress progress() {
            return before.progress();
        }
    }

    /** The process has exited. */
    record Exited(PlannedAction last) implements Termination {}

    /** Nothing is remembered: a process that breaks a rule later gets SIGTERM first. */
    record Forgotten() implements Termination {}

    /** What a cycle observed of a signalled process. */
    enum Sighting {
        /** It breaks a rule, and the grace has passed. */
        BREAKS_RULES,
        /** It breaks no rule. */
        COMPLIES,
        /** The observation of its host was incomplete. */
        UNKNOWN,
        /** Its host is not in the list. */
        HOST_NOT_LISTED,
        /** It has exited. */
        EXITED
    }

    /** SIGTERM was sent. */
    static Pending signalled(PlannedAction planned, long now) {
        return new Asked(TerminationProgress.of(planned, now));
    }

    /** SIGTERM may have been sent. */
    static Pending possiblySignalled(PlannedAction planned, long now) {
        return new PerhapsAsked(TerminationProgress.of(planned, now));
    }

    /** SIGKILL was sent. */
    static Pending killed(Pending state, PlannedAction planned, long now) {
        var killed = new Killed(state.progress().with(planned), now);
        return state instanceof Compliant(var _, var since) ? new Compliant(killed, since) : killed;
    }

    static Termination observed(Pending state, Sighting sighting, long now, TerminationTimes times) {
        return switch (sighting) {
            case BREAKS_RULES -> breaksRules(state, now, times);
            case COMPLIES -> complies(state, now, times);
            case UNKNOWN -> unobserved(state);
            case HOST_NOT_LISTED ->
                state.progress().age(now).compareTo(RETENTION) > 0 ? new Forgotten() : unobserved(state);
            case EXITED -> new Exited(state.progress().last());
        };
    }

    private static Termination breaksRules(Pending state, long now, TerminationTimes times) {
        var progress = state.progress().breaksRules(now, times);
        return switch (state) {
            case Compliant(var before, var _) -> breaksRules(before, now, times);
            case PerhapsAsked _ -> times.isOver(progress.brokenFor()) ? new Forgotten() : new PerhapsAsked(progress);
            case Asked _, Overdue _ ->
                times.isKillDue(progress.brokenFor()) ? new Overdue(progress) : new Asked(progress);
            case Killed(var _, var at) -> afterSigkill(progress, at, now);
            case Unkillable(var _, var at) -> afterSigkill(progress, at, now);
        };
    }

    private static Breaking afterSigkill(TerminationProgress progress, long killedAt, long now) {
        return Duration.ofNanos(now - killedAt).compareTo(PROCESS_REMOVAL_TIME) >= 0
                ? new Unkillable(progress, killedAt)
                : new Killed(progress, killedAt);
    }

    private static Termination complies(Pending state, long now, TerminationTimes times) {
        var changed = state.change(progress -> progress.complies(now, times));
        var compliant = switch (changed) {
            case Breaking breaking -> new Compliant(breaking, now);
            case Compliant since -> since;
        };
        return Duration.ofNanos(now - compliant.since).compareTo(times.compliancePeriod()) >= 0
                ? new Forgotten()
                : compliant;
    }

    /** Returns the signal that follows if the process continues to break rules; empty if none follows, or if it is due already. */
    static Optional<NextSignal> next(Pending state, long now, TerminationTimes times) {
        return switch (state) {
            case Asked(var progress)
            when times.killAfter() != null ->
                Optional.of(progress.next(Signal.KILL, WaitReason.KILL_AFTER, now, times));
            case PerhapsAsked(var progress) ->
                Optional.of(progress.next(Signal.TERM, WaitReason.UNCONFIRMED_SIGNAL, now, times));
            case Pending _ -> Optional.empty();
        };
    }

    /** Whether rules treat the process as gone: its memory counts as freed, so that no other process is terminated for it. */
    static boolean isExpectedToExit(Pending state, long now, TerminationTimes times) {
        return switch (state) {
            case Unkillable _ -> false;
            case Overdue(var progress) -> times.isKillRecent(progress.brokenFor()); // SIGKILL may fail in every cycle
            case Breaking breaking -> times.isExpectedToExit(breaking.progress().age(now));
            case Compliant(var before, var _) -> isExpectedToExit(before, now, times);
        };
    }

    /** Nothing is due for a process that was not observed. */
    private static Pending unobserved(Pending state) {
        var progress = state.progress().unobserved();
        return switch (state) {
            case Overdue _ -> new Asked(progress);
            case Unkillable(var _, var at) -> new Killed(progress, at);
            case Pending other -> other.change(_ -> progress);
        };
    }

    /**
     * The signal that a process gets if it continues to break rules.
     *
     * @param causes the violations for which it got the last signal
     * @param left the shortest time until the signal, from now on
     */
    record NextSignal(Action.Terminate action, Set<Violation.Key> causes, WaitReason because, Duration left) {}

    /**
     * The times of a termination.
     *
     * @param killAfter how long a process must continue to break rules before SIGKILL; null for never
     * @param compliancePeriod how long a process must break no rule before it is forgotten
     */
    record TerminationTimes(@Nullable Duration killAfter, Duration compliancePeriod) {
        /** How long rules treat a signalled process as gone if SIGKILL is disabled. */
        private static final Duration COUNTS_AS_FREED = Duration.ofSeconds(60);

        /**
         * Whether rules treat a signalled process as gone at this time after its first signal. A later SIGKILL makes it go in any
         * case.
         */
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

    /**
     * How far a termination has come.
     *
     * @param last the last action on it
     * @param at when it got the first signal, by the mark of the clock that counts towards an action
     * @param brokenFor how long it has continued to break rules; time after an observation without a violation does not count
     * @param brokenSince when it was last found to break a rule; empty if it broke none since
     * @param unseen whether an observation after that was incomplete
     */
    record TerminationProgress(
            PlannedAction last, long at, Duration brokenFor, OptionalLong brokenSince, boolean unseen) {
        /** The process got its first signal now. */
        static TerminationProgress of(PlannedAction planned, long now) {
            return new TerminationProgress(planned, now, Duration.ZERO, OptionalLong.of(now), false);
        }

        /** Moves the broken time into the moment, so that the value stays the same as long as every cycle finds the process. */
        TerminationProgress toSave() {
            return brokenSince.isPresent() && !unseen
                    ? new TerminationProgress(
                            last,
                            at,
                            Duration.ZERO,
                            OptionalLong.of(brokenSince.getAsLong() - brokenFor.toNanos()),
                            false)
                    : this;
        }

        /** Returns the saved progress as it was at the mark of the last cycle that was saved. */
        TerminationProgress restore(long observed) {
            if (brokenSince.isEmpty() || unseen) {
                return this;
            }
            var origin = brokenSince.getAsLong();
            var lastBroken =
                    Math.max(origin, observed); // a process that was signalled in that cycle broke a rule after it
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
}
