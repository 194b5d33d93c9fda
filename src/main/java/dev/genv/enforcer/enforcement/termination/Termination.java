package dev.genv.enforcer.enforcement.termination;

import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.policy.plan.Action.Signal;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.time.Duration;
import java.util.Optional;

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
    }

    /** A process that broke a rule when it was last checked. */
    sealed interface Breaking extends Pending {
        /** The same state with another progress. */
        Breaking with(TerminationProgress other);
    }

    /** SIGTERM was sent. */
    record Asked(TerminationProgress progress) implements Breaking {
        @Override
        public Asked with(TerminationProgress other) {
            return new Asked(other);
        }
    }

    /**
     * SIGTERM may have been sent; the answer was lost. The process is treated as signalled, because many training programs abort at a
     * second SIGTERM. But it gets no SIGKILL.
     */
    record PerhapsAsked(TerminationProgress progress) implements Breaking {
        @Override
        public PerhapsAsked with(TerminationProgress other) {
            return new PerhapsAsked(other);
        }
    }

    /** It still broke a rule when the time limit after SIGTERM was over: SIGKILL is due. */
    record Overdue(TerminationProgress progress) implements Breaking {
        @Override
        public Overdue with(TerminationProgress other) {
            return new Overdue(other);
        }
    }

    /** SIGKILL was sent. */
    record Killed(TerminationProgress progress, long killedAt) implements Breaking {
        @Override
        public Killed with(TerminationProgress other) {
            return new Killed(other, killedAt);
        }
    }

    /** It still breaks a rule long after SIGKILL: the kernel does not remove it. */
    record Unkillable(TerminationProgress progress, long killedAt) implements Breaking {
        @Override
        public Unkillable with(TerminationProgress other) {
            return new Unkillable(other, killedAt);
        }
    }

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
        return switch (state) {
            case Breaking breaking -> new Killed(breaking.progress().with(planned), now);
            case Compliant(var before, var since) ->
                new Compliant(new Killed(before.progress().with(planned), now), since);
        };
    }

    /** Returns the state after an observation. */
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
        var before = switch (state) {
            case Breaking breaking -> breaking;
            case Compliant compliant -> compliant.before;
        };
        var progress = before.progress().breaksRules(now, times);
        return switch (before) {
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
        var compliant = switch (state) {
            case Breaking breaking ->
                new Compliant(breaking.with(breaking.progress().complies(now, times)), now);
            case Compliant(var before, var since) ->
                new Compliant(before.with(before.progress().complies(now, times)), since);
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
            case Breaking breaking -> breaking.with(progress);
            case Compliant(var before, var since) -> new Compliant(before.with(progress), since);
        };
    }
}
