package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.Gate.Verdict;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.enforcement.report.ViolationRecord.WaitReason;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Rule.ExpectedExits;
import dev.genv.enforcer.policy.Rules;
import dev.genv.enforcer.policy.Violation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The processes that were signalled, until they have exited or are forgotten. SIGKILL follows when a process was observed for {@code KILL_AFTER}
 * in all to break enforced rules whose grace is over. One that breaks none is not forgotten at once: the GPU tool may temporarily omit it, many
 * training programs abort at a second SIGTERM, and a process may break rules only in every second observation.
 *
 * <p>Times are marks of the clock that counts towards an action, in nanoseconds. Results that nothing awaits any longer are remembered, too.
 */
public final class Terminations {
    public static final SavedKind<HostProcess, Termination> TERMINATIONS =
            new SavedKind<>("termination", HostProcess.class, Termination.class, HostProcess::host);

    /** The time that the kernel and the driver need to remove a killed process. */
    private static final long REMOVAL_TIME = Duration.ofSeconds(10).toNanos();

    private final boolean kills;
    /** How long a process must be observed to break rules after a signal before it gets the next one. */
    private final long killAfter;

    private final long compliancePeriod;
    private final Ticker ticker;
    private final Map<HostProcess, Termination> pending = new TreeMap<>();
    /** The signals of an earlier run that none of its cycles recorded. */
    private final List<ActionRecord> unrecorded = new ArrayList<>();
    /** When the last observation was recorded. */
    private long observedAt;

    /** How far a termination has come. */
    public enum Stage {
        /** SIGTERM may have been sent: it is about to be, or its result never came. It counts as sent, but no SIGKILL follows. */
        PERHAPS,
        /** SIGTERM was sent. */
        ASKED,
        /** SIGKILL was sent. */
        KILLED
    }

    /**
     * A termination. It is stored before the signal, and stays the same as long as every cycle finds that the process breaks rules.
     *
     * @param last the last signal
     * @param at when that was sent, or SIGKILL was tried first
     * @param broken how long the process was observed to break rules until {@code since}
     * @param since since when it keeps breaking rules; null if the last observation did not show that it breaks one
     * @param compliantSince since when it breaks no rule, as far as was observed; null if it broke one last
     */
    public record Termination(
            PlannedAction last,
            Stage stage,
            long at,
            long broken,
            @Nullable Long since,
            @Nullable Long compliantSince) {
        private static Termination begin(PlannedAction planned, Stage stage, long now) {
            return new Termination(planned, stage, now, 0, now, null);
        }

        private Termination tried(long now) {
            return new Termination(last, stage, now, broken, since, compliantSince);
        }

        private Termination breaks(long now) {
            return since == null ? new Termination(last, stage, at, broken, now, null) : this;
        }

        /** It may have stopped breaking rules since the observation before, so of the time since then only a part counts. */
        private Termination stops(long before, long now, long most, boolean isCompliant) {
            var until = since == null ? now : Math.max(since, before);
            var rest = since == null ? 0 : Math.min(now - until, most);
            var compliant = isCompliant && compliantSince == null ? Long.valueOf(now) : compliantSince;
            return new Termination(last, stage, at, elapsed(until) + rest, null, compliant);
        }

        /** Returns the violations for which the process was signalled and that it still causes. */
        private Stream<Violation> continued(GpuProcess process, Plan plan) {
            return plan.violations().stream()
                    .filter(violation -> violation.processes().contains(process))
                    .filter(violation -> hasCause(cause -> cause.key().equals(violation.key())));
        }

        private boolean hasCause(Predicate<Violation> which) {
            return last.causes().stream().anyMatch(which);
        }

        /** How long it was observed to break rules until now. */
        private long elapsed(long now) {
            return since == null ? broken : broken + now - since;
        }
    }

    /**
     * What follows from an observation.
     *
     * @param records the processes that have exited, and those that still exist long after SIGKILL
     * @param actions SIGKILL where it is due, and the plan without the processes that were signalled before
     */
    public record Review(List<ActionRecord> records, List<PlannedAction> actions) {}

    /** Creates an empty list for these times until SIGKILL and until a termination is forgotten, by the clock that counts towards an action. */
    public Terminations(SafetyLimits limits, Ticker ticker) {
        kills = limits.killAfter() != null;
        killAfter = limits.timeAfterSignal().toNanos();
        compliancePeriod = limits.compliancePeriod().toNanos();
        this.ticker = ticker;
    }

    public synchronized SavedState save() {
        return SavedState.EMPTY.with(TERMINATIONS, new HashMap<>(pending));
    }

    /**
     * Continues the terminations that an earlier run of the service saved; the clock that counts towards an action continues too. Those that
     * it began after its last cycle begin now.
     */
    public synchronized void restore(SavedState saved, Optional<SavedCycle> last) {
        var now = ticker.mark();
        saved.get(TERMINATIONS).forEach((process, its) -> {
            var isRecorded = last.isPresent() && its.at < last.get().counted();
            pending.put(process, isRecorded ? its : Termination.begin(its.last, its.stage, now));
            if (!isRecorded) {
                unrecorded.add(new ActionRecord(its.last, Result.UNKNOWN, ticker.now()));
            }
        });
        observedAt = last.map(SavedCycle::observed).orElse(now);
    }

    /** Returns the signals of an earlier run that none of its cycles recorded. */
    synchronized List<ActionRecord> unrecorded() {
        return List.copyOf(unrecorded);
    }

    /** Returns all processes that were signalled and have not exited, as far as is known. */
    public synchronized Set<HostProcess> all() {
        return Set.copyOf(pending.keySet());
    }

    /** Begins a termination for each SIGTERM that is sent now, and returns what must be stored before the first signal. */
    public synchronized SavedState begin(Map<PlannedAction, Verdict> verdicts) {
        var begun = new HashMap<HostProcess, Termination>();
        verdicts.forEach((planned, verdict) -> {
            if (verdict instanceof Verdict.Now && planned.isSigterm()) {
                planned.process()
                        .ifPresent(process ->
                                begun.put(process, Termination.begin(planned, Stage.PERHAPS, ticker.mark())));
            }
        });
        pending.putAll(begun);
        return SavedState.EMPTY.with(TERMINATIONS, begun);
    }

    /** Whether this SIGTERM was begun and has no result. */
    public synchronized boolean isBegun(PlannedAction planned) {
        return planned.process()
                .map(pending::get)
                .filter(its -> its.stage == Stage.PERHAPS && its.last.equals(planned))
                .isPresent();
    }

    /** Forgets a SIGTERM that was begun and not sent. */
    public synchronized void abandon(PlannedAction planned) {
        if (isBegun(planned)) {
            planned.process().ifPresent(pending::remove);
        }
    }

    /** Remembers the result of an action, if it is a termination. Without a result, or with a lost one, its stage stays. */
    public synchronized void remember(ActionRecord done) {
        var planned = done.planned();
        if (done.result().outcome() == Outcome.SIGNALLED && planned.action() instanceof Action.Terminate action) {
            var stage = action.signal() == Signal.KILL ? Stage.KILLED : Stage.ASKED;
            pending.put(action.target(), Termination.begin(planned, stage, ticker.mark()));
        } else if (!done.result().uncertain()) {
            abandon(planned);
        }
    }

    /**
     * Returns what rules must know about the signalled processes. They treat one that exits or gets SIGKILL as gone, so that no other one is
     * terminated for its memory. One that was signalled for its memory, and gets SIGKILL if it still needs it, is chosen before others.
     *
     * @param now when the present observation was made
     */
    public synchronized ExpectedExits leaving(long now) {
        var leaving = new HashSet<HostProcess>();
        var overdue = new HashSet<HostProcess>();
        pending.forEach((process, its) -> {
            if (isLeaving(its, now)) {
                leaving.add(process);
                if (isKillDue(its, now) && its.hasCause(cause -> Rules.OF_MEMORY.contains(cause.rule()))) {
                    overdue.add(process);
                }
            }
        });
        return new ExpectedExits(leaving, overdue, Set.of());
    }

    /** Whether it exits or gets SIGKILL, as far as the last observation showed. SIGKILL may fail, or not terminate it. */
    private boolean isLeaving(Termination its, long now) {
        return kills ? !isStuck(its) : now - its.at < killAfter;
    }

    /** Whether it was observed long after SIGKILL was sent, or tried while it kept breaking rules. */
    private boolean isStuck(Termination its) {
        var isObserved = its.stage == Stage.KILLED
                ? its.since != null || its.compliantSince != null
                : its.stage == Stage.ASKED && isTried(its);
        return isObserved && observedAt - its.at >= REMOVAL_TIME;
    }

    /** Whether SIGKILL was tried since it became due. */
    private boolean isTried(Termination its) {
        return its.since != null && its.at >= its.since && its.elapsed(its.at) >= killAfter;
    }

    /** Whether a process gets SIGKILL if it still breaks a rule. */
    private boolean isKillDue(Termination termination, long now) {
        return kills && termination.stage == Stage.ASKED && termination.elapsed(now) >= killAfter;
    }

    /**
     * Remembers for each process what a cycle observed, and decides what is due. The history remembers the plan already. It also says until
     * when a host that is no longer configured may return.
     */
    synchronized Review review(Plan plan, Fleet fleet, History history, Gate gate) {
        var before = observedAt;
        var now = history.observedAt();
        observedAt = now;
        var ended = fleet.ended();
        var wanted = plan.terminations();
        var records = new ArrayList<ActionRecord>();
        var actions = new ArrayList<PlannedAction>();
        for (var target : List.copyOf(pending.keySet())) {
            var known = Objects.requireNonNull(pending.get(target));
            if (ended.contains(target)) {
                pending.remove(target);
                records.add(new ActionRecord(known.last, Result.of(Outcome.EXITED), ticker.now()));
                continue;
            }
            var sighting = Sighting.of(target, known, wanted.getOrDefault(target, List.of()), plan, fleet, gate);
            var its = sighting.breaksRules()
                    ? known.breaks(now)
                    : known.stops(before, now, killAfter / 2, sighting.isCompliant);
            if (isForgotten(its, sighting) || !history.isRemembered(target.host())) {
                pending.remove(target);
            } else {
                pending.put(target, sighting.breaksRules() ? escalate(its, sighting, records, actions) : its);
            }
        }
        plan.actions().stream()
                .filter(planned ->
                        planned.process().filter(pending::containsKey).isEmpty())
                .forEach(actions::add);
        return new Review(records, actions);
    }

    /**
     * Returns the actions of a plan, and SIGKILL for the signalled processes that still cause the violations for which they were signalled.
     * Rules treat their memory as freed, so the plan may not contain them.
     */
    synchronized List<PlannedAction> continued(Plan plan, Fleet fleet) {
        var actions = new ArrayList<>(plan.actions());
        pending.forEach((target, its) -> fleet.host(target.host())
                .flatMap(host -> host.process(target.id()))
                .ifPresent(process -> actions.add(new PlannedAction(
                        new Action.Terminate(target.host(), process, Signal.KILL),
                        its.continued(process, plan).toList()))));
        return actions;
    }

    /** Whether a process gets SIGTERM first if it breaks rules later. */
    private boolean isForgotten(Termination its, Sighting sighting) {
        if (sighting.breaksRules()) {
            return its.stage == Stage.PERHAPS && its.elapsed(observedAt) >= killAfter;
        }
        return sighting.isCompliant && observedAt - Objects.requireNonNull(its.compliantSince) >= compliancePeriod;
    }

    /** Decides about a process that still breaks a rule. */
    private Termination escalate(
            Termination its, Sighting sighting, List<ActionRecord> records, List<PlannedAction> actions) {
        var kill = Objects.requireNonNull(sighting.kill);
        if (its.stage == Stage.KILLED && isStuck(its)) {
            records.add(new ActionRecord(
                    new PlannedAction(kill, sighting.causes),
                    new Result(Outcome.UNKILLABLE, "SIGKILL did not terminate it"),
                    ticker.now()));
        } else if (isKillDue(its, observedAt) && !sighting.planned.isEmpty()) {
            actions.add(new PlannedAction(kill, sighting.planned));
            return isTried(its) ? its : its.tried(observedAt);
        }
        return its;
    }

    /** Returns the signals that follow if the processes continue to break rules, as they are now, and what each one waits for. */
    public synchronized Map<PlannedAction, Verdict.Wait> nextSignals(Plan plan, Fleet fleet) {
        var planned = plan.terminations();
        var signals = new LinkedHashMap<PlannedAction, Verdict.Wait>();
        pending.forEach((target, its) -> {
            var isAsked = its.stage != Stage.PERHAPS;
            var isNext = !isAsked || (kills && !(its.since != null && isKillDue(its, observedAt)));
            if (isNext && its.stage != Stage.KILLED && its.compliantSince == null) {
                var process = fleet.host(target.host())
                        .flatMap(host -> host.process(target.id()))
                        .orElse(((Action.Terminate) its.last.action()).process()); // only a termination is pending
                var causes = Stream.of(its.last.causes(), planned.getOrDefault(target, List.of()))
                        .flatMap(List::stream)
                        .toList();
                signals.put(
                        new PlannedAction(
                                new Action.Terminate(target.host(), process, isAsked ? Signal.KILL : Signal.TERM),
                                causes),
                        new Verdict.Wait(
                                Duration.ofNanos(Math.max(0, killAfter - its.elapsed(observedAt))),
                                isAsked ? WaitReason.KILL_AFTER : WaitReason.UNCONFIRMED_SIGNAL,
                                Optional.empty()));
            }
        });
        return signals;
    }

    /**
     * What was observed of a signalled process.
     *
     * @param kill its SIGKILL; null if it was not on a GPU
     * @param planned the violations whose grace is over and for which the plan terminates it
     * @param causes these, and those for which it was signalled and that it still causes
     * @param isCompliant whether it broke no rule although the rules could check it
     */
    private record Sighting(
            Action.@Nullable Terminate kill, List<Violation> planned, List<Violation> causes, boolean isCompliant) {
        boolean breaksRules() {
            return !causes.isEmpty();
        }

        static Sighting of(
                HostProcess target, Termination known, List<Violation> wanted, Plan plan, Fleet fleet, Gate gate) {
            var snapshot = fleet.host(target.host()).orElse(null);
            var process =
                    snapshot == null ? null : snapshot.process(target.id()).orElse(null);
            if (snapshot == null || process == null) {
                // It would have been observed if it were still on a GPU.
                var isCompliant = snapshot != null && snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS);
                return new Sighting(null, List.of(), List.of(), isCompliant);
            }
            var kill = new Action.Terminate(target.host(), process, Signal.KILL);
            Predicate<Violation> isDue = cause -> gate.judge(cause, kill) instanceof Verdict.Now;
            var planned = wanted.stream().filter(isDue).toList();
            // Rules treat its memory as freed, so the plan may not contain it, but it still runs.
            var unplanned = known.continued(process, plan).filter(isDue);
            var causes = Stream.concat(planned.stream(), unplanned).distinct().toList();
            // The rules could check this process, even if another process or a device could not be observed.
            var isChecked = snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS)
                    && !(process.membership() instanceof Membership.Unknown
                            && known.hasCause(cause -> cause.rule().isOfMemberships()));
            return new Sighting(kill, planned, causes, causes.isEmpty() && isChecked);
        }
    }
}
