package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Order.WaitReason;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
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
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The processes that were signalled, until they have exited or are forgotten. A process that keeps breaking rules for a time after SIGTERM
 * gets SIGKILL. One that breaks none is not forgotten at once: the GPU tool may temporarily omit it, many training programs abort at a
 * second SIGTERM, and a process may break rules only in every second observation.
 *
 * <p>Times are marks of the clock that counts towards an action, in nanoseconds. Workers whose result is no longer awaited also record here.
 */
public final class Terminations {
    public static final SavedKind<HostProcess, Termination> TERMINATIONS =
            new SavedKind<>("termination", HostProcess.class, Termination.class, HostProcess::host);

    /** The time that the kernel and the driver need to remove a killed process. */
    private static final long REMOVAL_TIME = Duration.ofSeconds(10).toNanos();
    /** How long after its signal a process of a host that left the list is remembered: the host may return. */
    private static final long RETENTION = Duration.ofHours(1).toNanos();
    /** How long rules treat a signalled process as gone if SIGKILL is disabled. */
    private static final Duration COUNTS_AS_FREED = Duration.ofSeconds(60);

    private final boolean kills;
    /** How long a process must keep breaking rules after a signal before it gets the next one. */
    private final long afterSignal;

    private final long compliancePeriod;
    private final Ticker ticker;
    private final Map<HostProcess, Termination> pending = new TreeMap<>();
    /** When the last observation was recorded. */
    private long observedAt;

    /** How far a termination has come. */
    public enum Stage {
        /** SIGTERM may have been sent; the answer was lost. It counts as sent, but no SIGKILL follows. */
        PERHAPS_ASKED,
        /** SIGTERM was sent. */
        ASKED,
        /** SIGKILL is due, and may have failed. */
        OVERDUE,
        /** SIGKILL was sent. */
        KILLED
    }

    /**
     * A signalled process. It stays the same as long as every cycle finds that it breaks rules.
     *
     * @param last the last action on it
     * @param signalledAt when it got the first signal
     * @param stageAt when its stage began
     * @param broken how long it kept breaking rules before {@code since}
     * @param since since when it keeps breaking rules; null if the last observation did not show that it breaks one
     * @param compliantSince since when it breaks no rule, as far as was observed; null if it broke one last
     */
    public record Termination(
            PlannedAction last,
            long signalledAt,
            Stage stage,
            long stageAt,
            long broken,
            @Nullable Long since,
            @Nullable Long compliantSince) {
        private static Termination begin(PlannedAction planned, Stage stage, long now) {
            return new Termination(planned, now, stage, now, 0, now, null);
        }

        private Termination next(PlannedAction planned, Stage next, long now) {
            return new Termination(planned, signalledAt, next, now, broken, since, compliantSince);
        }

        private Termination breaks(long now) {
            return since == null ? new Termination(last, signalledAt, stage, stageAt, broken, now, null) : this;
        }

        /** It may have stopped breaking rules since the observation before, so of the time since then only a part counts. */
        private Termination stops(long before, long now, long most, @Nullable Long compliant) {
            var until = since == null ? now : Math.max(since, before);
            return new Termination(
                    last,
                    signalledAt,
                    stage == Stage.OVERDUE ? Stage.ASKED : stage,
                    stageAt,
                    elapsed(until) + (since == null ? 0 : Math.min(now - until, most)),
                    null,
                    compliant);
        }

        /** How long it kept breaking rules until now. */
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

    /**
     * Creates an empty list.
     *
     * @param killAfter how long a process must continue to break rules before SIGKILL; null for never
     * @param compliancePeriod how long a process must break no rule before it is forgotten
     * @param ticker the clock that counts towards an action
     */
    public Terminations(@Nullable Duration killAfter, Duration compliancePeriod, Ticker ticker) {
        kills = killAfter != null;
        afterSignal = Objects.requireNonNullElse(killAfter, COUNTS_AS_FREED).toNanos();
        this.compliancePeriod = compliancePeriod.toNanos();
        this.ticker = ticker;
    }

    public synchronized SavedState save() {
        return SavedState.EMPTY.with(TERMINATIONS, new HashMap<>(pending));
    }

    /** Continues the terminations that an earlier run of the service saved; the clock that counts towards an action continues too. */
    public synchronized void restore(SavedState saved, SavedCycle last) {
        pending.putAll(saved.get(TERMINATIONS));
        observedAt = last.observed();
    }

    /** Returns all processes that were signalled and have not exited, as far as is known. */
    public synchronized Set<HostProcess> all() {
        return Set.copyOf(pending.keySet());
    }

    /** Records the result of an action, if it is a termination. */
    public synchronized void record(ActionRecord done) {
        if (!(done.planned().action() instanceof Action.Terminate action)) {
            return;
        }
        var now = ticker.mark();
        var known = pending.get(action.target());
        if (done.result().outcome() == Outcome.SIGNALLED) {
            pending.put(
                    action.target(),
                    action.signal() == Signal.KILL && known != null
                            ? known.next(done.planned(), Stage.KILLED, now)
                            : Termination.begin(done.planned(), Stage.ASKED, now));
        } else if (done.result().uncertain() && known == null) {
            pending.put(action.target(), Termination.begin(done.planned(), Stage.PERHAPS_ASKED, now));
        }
    }

    /**
     * Returns what rules must know about the signalled processes. They treat one that exits or gets SIGKILL as gone, so that no other one is
     * terminated for its memory. One that was signalled for its memory, and gets SIGKILL if it still needs it, is chosen before others.
     *
     * @param now when the present observation was recorded
     */
    public synchronized ExpectedExits leaving(long now) {
        var leaving = new HashSet<HostProcess>();
        var overdue = new HashSet<HostProcess>();
        pending.forEach((process, termination) -> {
            if (isLeaving(termination, now)) {
                leaving.add(process);
                if (isKillDue(termination, now) && isForMemory(termination)) {
                    overdue.add(process);
                }
            }
        });
        return new ExpectedExits(leaving, overdue, Set.of());
    }

    /** Whether it exits or gets SIGKILL, as far as the last observation showed. SIGKILL may fail, or not terminate it. */
    private boolean isLeaving(Termination termination, long now) {
        return kills ? !isStuck(termination) : now - termination.signalledAt < afterSignal;
    }

    private static boolean isForMemory(Termination termination) {
        return termination.last.causes().stream().anyMatch(cause -> cause.rule().equals(Rules.ENV_MEMORY));
    }

    /** Whether it still exists long after SIGKILL was due. */
    private boolean isStuck(Termination termination) {
        var isObserved = termination.since != null || termination.compliantSince != null;
        return isObserved
                && termination.stage.compareTo(Stage.OVERDUE) >= 0
                && observedAt - termination.stageAt >= REMOVAL_TIME;
    }

    /** Whether a process gets SIGKILL if it still breaks a rule. */
    private boolean isKillDue(Termination termination, long now) {
        return kills
                && (termination.stage == Stage.ASKED || termination.stage == Stage.OVERDUE)
                && termination.elapsed(now) >= afterSignal;
    }

    /** Records for each process what a cycle observed, and decides what is due. The history has recorded the plan. */
    public synchronized Review review(Plan plan, Fleet fleet, History history, Gate gate) {
        var before = observedAt;
        observedAt = history.recordedAt();
        var records = new ArrayList<ActionRecord>();
        var actions = new ArrayList<PlannedAction>();
        var ended = fleet.ended();
        var wanted = plan.terminations();
        for (var target : List.copyOf(pending.keySet())) {
            var known = Objects.requireNonNull(pending.get(target));
            if (ended.contains(target)) {
                pending.remove(target);
                records.add(new ActionRecord(known.last, Result.of(Outcome.EXITED), ticker.now()));
                continue;
            }
            var check = check(target, known, wanted.getOrDefault(target, List.of()), plan, fleet, gate);
            var next = next(known, check, before);
            if (next.isEmpty()) {
                pending.remove(target);
                continue;
            }
            pending.put(target, next.get());
            if (check.sighting == Sighting.BREAKS_RULES) {
                escalate(target, next.get(), check, records, actions);
            }
        }
        plan.actions().stream()
                .filter(planned -> !(planned.action() instanceof Action.Terminate terminate
                        && pending.containsKey(terminate.target())))
                .forEach(actions::add);
        return new Review(records, actions);
    }

    /** Decides about a process that still breaks a rule. */
    private void escalate(
            HostProcess target,
            Termination known,
            Check check,
            List<ActionRecord> records,
            List<PlannedAction> actions) {
        var kill = new Action.Terminate(target.host(), Objects.requireNonNull(check.process), Signal.KILL);
        if (known.stage == Stage.KILLED && isStuck(known)) {
            records.add(new ActionRecord(
                    new PlannedAction(kill, check.all, true),
                    new Result(Outcome.UNKILLABLE, "SIGKILL did not terminate it"),
                    ticker.now()));
        } else if (isKillDue(known, observedAt) && !check.planned.isEmpty()) {
            if (known.stage == Stage.ASKED) {
                pending.put(target, known.next(known.last, Stage.OVERDUE, observedAt));
            }
            actions.add(new PlannedAction(kill, check.planned, true));
        }
    }

    /** Returns a process after an observation; empty if it is forgotten. One that breaks rules later gets SIGTERM first. */
    private Optional<Termination> next(Termination known, Check check, long before) {
        var now = observedAt;
        return switch (check.sighting) {
            case BREAKS_RULES ->
                Optional.of(known.breaks(now))
                        .filter(next -> next.stage != Stage.PERHAPS_ASKED || next.elapsed(now) < afterSignal);
            case COMPLIES -> {
                var since = Objects.requireNonNullElse(known.compliantSince, now);
                yield Optional.of(known.stops(before, now, mostUnobserved(), since))
                        .filter(_ -> now - since < compliancePeriod);
            }
            case UNKNOWN -> Optional.of(known.stops(before, now, mostUnobserved(), known.compliantSince));
            case HOST_NOT_LISTED ->
                Optional.of(known.stops(before, now, mostUnobserved(), known.compliantSince))
                        .filter(_ -> now - known.signalledAt <= RETENTION);
        };
    }

    private long mostUnobserved() {
        return kills ? afterSignal / 2 : Long.MAX_VALUE;
    }

    /** Returns the signals that follow if the processes continue to break rules, and what each one waits for. */
    public synchronized Map<PlannedAction, Order.Until> nextSignals() {
        var now = ticker.mark();
        var signals = new LinkedHashMap<PlannedAction, Order.Until>();
        for (var its : pending.values()) {
            var isAsked = its.stage != Stage.PERHAPS_ASKED;
            var isNext = !isAsked || (kills && !(its.since != null && isKillDue(its, observedAt)));
            if (isNext && its.stage != Stage.KILLED && its.compliantSince == null) {
                var last = (Action.Terminate) its.last.action(); // only a termination is pending
                var signal = new Action.Terminate(last.host(), last.process(), isAsked ? Signal.KILL : Signal.TERM);
                var left = Duration.ofNanos(Math.max(0, afterSignal - its.elapsed(now)));
                signals.put(
                        new PlannedAction(signal, its.last.causes(), true),
                        new Order.Until(
                                isAsked ? WaitReason.KILL_AFTER : WaitReason.UNCONFIRMED_SIGNAL,
                                ticker.now().plus(left)));
            }
        }
        return signals;
    }

    private static Set<Violation.Key> keys(Termination termination) {
        return termination.last.causes().stream().map(Violation::key).collect(Collectors.toUnmodifiableSet());
    }

    private enum Sighting {
        /** It breaks a rule, and the grace has passed. */
        BREAKS_RULES,
        /** It breaks no rule. */
        COMPLIES,
        /** The observation of its host was incomplete. */
        UNKNOWN,
        /** Its host is not in the list. */
        HOST_NOT_LISTED
    }

    /**
     * What was observed of a signalled process.
     *
     * @param process null if it was not on a GPU
     * @param planned the violations for which the plan terminates it
     * @param all these, and those for which it was signalled and that it still causes
     */
    private record Check(
            Sighting sighting, @Nullable GpuProcess process, List<Violation> planned, List<Violation> all) {
        static Check without(Sighting sighting) {
            return new Check(sighting, null, List.of(), List.of());
        }
    }

    private static Check check(
            HostProcess target, Termination known, List<Violation> wanted, Plan plan, Fleet fleet, Gate gate) {
        var snapshot = fleet.host(target.host()).orElse(null);
        if (snapshot == null) {
            return Check.without(Sighting.HOST_NOT_LISTED);
        }
        var process = snapshot.process(target.id()).orElse(null);
        if (process == null) {
            // It would have been observed if it were still on a GPU.
            return Check.without(
                    snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.EVERY_PROCESS)
                            ? Sighting.COMPLIES
                            : Sighting.UNKNOWN);
        }
        var kill = new Action.Terminate(target.host(), process, Signal.KILL);
        var planned = overdue(wanted, kill, gate);
        // Rules treat its memory as freed, so the plan may not contain it, but it still runs.
        var causes = keys(known);
        var unplanned = plan.violations().stream()
                .filter(violation -> causes.contains(violation.key())
                        && violation.processes().contains(process))
                .toList();
        var all = Stream.concat(planned.stream(), overdue(unplanned, kill, gate).stream())
                .distinct()
                .toList();
        // The rules could check this process, even if another process or a device could not be observed.
        var isKnown = !(process.membership() instanceof Membership.Unknown)
                || known.last().causes().stream()
                        .noneMatch(cause -> cause.rule().isOfMemberships());
        var isChecked =
                isKnown && snapshot.has(SnapshotPart.PROCESSES, SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS);
        var sighting = isChecked ? Sighting.COMPLIES : Sighting.UNKNOWN;
        return new Check(all.isEmpty() ? sighting : Sighting.BREAKS_RULES, process, planned, all);
    }

    private static List<Violation> overdue(List<Violation> causes, Action.Terminate action, Gate gate) {
        return causes.stream().filter(cause -> gate.isOverdue(cause, action)).toList();
    }
}
