package dev.genv.enforcer.enforcement.forecast;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.action.WaitReason;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.safeguard.Safeguards;
import dev.genv.enforcer.enforcement.termination.PendingTerminations;
import dev.genv.enforcer.enforcement.violation.NextAction;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import dev.genv.enforcer.policy.plan.Violation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Derives from the results of a cycle which actions follow if nothing changes, and not before when. It decides nothing. */
public final class Forecast {
    private final Safeguards safeguards;
    private final PendingTerminations pending;
    private final Ticker ticker;

    public Forecast(Safeguards safeguards, PendingTerminations pending, Ticker ticker) {
        this.safeguards = safeguards;
        this.pending = pending;
        this.ticker = ticker;
    }

    /**
     * Returns the actions that follow on each violation, the earliest first. An action that no time alone leads to is left out: that of
     * a rule in audit mode, and those on protected programs and exempt users.
     *
     * @param records the actions of the cycle with their results
     */
    public Map<Violation.Key, List<NextAction>> of(Evidence evidence, List<ActionRecord> records) {
        var next = new HashMap<Violation.Key, List<NextAction>>();
        var signals = pending.nextSignals();
        var signalled =
                signals.stream().map(signal -> signal.action().target()).collect(Collectors.toUnmodifiableSet());
        for (var done : records) {
            if (!(done.planned().action() instanceof Action.Terminate terminate
                    && signalled.contains(terminate.target()))) {
                next(done, evidence).forEach(action -> add(next, keys(done.planned()), action));
            }
        }
        var planned = causes(evidence);
        for (var signal : signals) {
            if (!safeguards.isOnlyDelayed(asObserved(signal.action(), evidence), signal.causes(), evidence)) {
                continue;
            }
            var action = NextAction.of(signal.action(), ticker.now().plus(signal.left()), signal.because());
            add(next, signal.causes(), action);
            var others = new ArrayList<>(planned.getOrDefault(signal.action().target(), Set.of()));
            others.removeAll(signal.causes());
            add(next, others, action);
        }
        next.values().forEach(actions -> actions.sort(Comparator.comparing(NextAction::notBefore)));
        return next;
    }

    /** Returns the signal with the process as it is now: its user may have become exempt. */
    private static Action.Terminate asObserved(Action.Terminate signal, Evidence evidence) {
        return evidence.seen().host(signal.host()).stream()
                .flatMap(host -> host.snapshot().allProcesses().stream())
                .filter(process -> process.id().equals(signal.process().id()))
                .findFirst()
                .map(process -> new Action.Terminate(signal.host(), process, signal.signal()))
                .orElse(signal);
    }

    private List<NextAction> next(ActionRecord done, Evidence evidence) {
        var action = done.planned().action();
        return switch (done.result().outcome()) {
            case SKIPPED_GRACE ->
                safeguards.waitOf(done.planned(), evidence).stream()
                        .map(wait -> NextAction.of(
                                action, evidence.seen().at().plus(wait.left().orElseThrow()), wait.because()))
                        .toList();
            case SKIPPED_LIMIT -> List.of(NextAction.of(action, done.at(), WaitReason.TERMINATION_LIMIT));
            case DENIED, FAILED -> List.of(NextAction.of(action, done.at(), WaitReason.NEXT_CYCLE));
            case SIGNALLED,
                    EXITED,
                    ALREADY_GONE,
                    UNKILLABLE,
                    DETACHED,
                    ALREADY_DETACHED,
                    SKIPPED_AUDIT,
                    SKIPPED_PROTECTED,
                    SKIPPED_EXEMPT -> List.of();
        };
    }

    /** Returns for which violations the plan of this cycle terminates each process. */
    private static Map<HostProcess, Set<Violation.Key>> causes(Evidence evidence) {
        var causes = new HashMap<HostProcess, Set<Violation.Key>>();
        for (var planned : evidence.plan().actions()) {
            if (planned.action() instanceof Action.Terminate terminate) {
                causes.put(terminate.target(), keys(planned));
            }
        }
        return causes;
    }

    private static Set<Violation.Key> keys(PlannedAction planned) {
        return planned.causes().stream().map(Violation::key).collect(Collectors.toUnmodifiableSet());
    }

    private static void add(
            Map<Violation.Key, List<NextAction>> next, Iterable<Violation.Key> violations, NextAction action) {
        violations.forEach(violation ->
                next.computeIfAbsent(violation, _ -> new ArrayList<>()).add(action));
    }
}
