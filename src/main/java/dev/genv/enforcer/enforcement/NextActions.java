package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Safeguards;
import dev.genv.enforcer.enforcement.action.Safeguards.Orders;
import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.action.Terminations.NextSignal;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Order.WaitReason;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ViolationRecord.NextAction;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Violation;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Returns which actions follow a cycle if nothing changes, and not before when. It decides nothing. */
record NextActions(Safeguards safeguards, Terminations pending, Ticker ticker) {
    /**
     * Returns the actions that follow on each violation, the earliest first: those that are held back for a time, those that failed, and
     * the next signals of signalled processes.
     */
    Map<Violation.Key, List<NextAction>> of(Plan plan, Fleet fleet, Orders orders, List<ActionRecord> results) {
        var next = new HashMap<Violation.Key, List<NextAction>>();
        var signals = pending.nextSignals();
        var signalled =
                signals.stream().map(signal -> signal.action().target()).collect(Collectors.toUnmodifiableSet());
        var until = new HashMap<PlannedAction, Order.Until>();
        for (var order : orders.all()) {
            if (order instanceof Order.Hold hold) {
                hold.until().ifPresent(its -> until.put(hold.planned(), its));
            }
        }
        for (var done : results) {
            var planned = done.planned();
            if (!(planned.action() instanceof Action.Terminate terminate && signalled.contains(terminate.target()))) {
                Optional.ofNullable(until.get(planned))
                        .or(() -> isRepeated(done)
                                ? Optional.of(new Order.Until(WaitReason.NEXT_CYCLE, done.at()))
                                : Optional.empty())
                        .ifPresent(its ->
                                add(next, keys(planned), NextAction.of(planned.action(), its.at(), its.because())));
            }
        }
        addSignals(next, signals, plan, fleet);
        next.values().forEach(actions -> actions.sort(Comparator.comparing(NextAction::notBefore)));
        return next;
    }

    /** Whether the next cycle decides again about an action that it was decided to execute. */
    private static boolean isRepeated(ActionRecord done) {
        var outcome = done.result().outcome();
        var isLate = outcome == Outcome.SKIPPED_GRACE && done.planned().enforced();
        return outcome == Outcome.DENIED || outcome == Outcome.FAILED || isLate;
    }

    private void addSignals(
            Map<Violation.Key, List<NextAction>> next, List<NextSignal> signals, Plan plan, Fleet fleet) {
        var planned = plan.terminations();
        for (var signal : signals) {
            var action = asObserved(signal.action(), fleet);
            if (safeguards.isOnlyDelayed(action, signal.causes(), fleet)) {
                var causes = new HashSet<>(signal.causes());
                planned.getOrDefault(action.target(), List.of()).forEach(cause -> causes.add(cause.key()));
                add(next, causes, NextAction.of(action, ticker.now().plus(signal.left()), signal.because()));
            }
        }
    }

    /** Returns the signal with the process as it is now: its user may have become exempt. */
    private static Action.Terminate asObserved(Action.Terminate signal, Fleet fleet) {
        return fleet.host(signal.host())
                .flatMap(host -> host.process(signal.process().id()))
                .map(process -> new Action.Terminate(signal.host(), process, signal.signal()))
                .orElse(signal);
    }

    private static Set<Violation.Key> keys(PlannedAction planned) {
        return planned.causes().stream().map(Violation::key).collect(Collectors.toUnmodifiableSet());
    }

    private static void add(
            Map<Violation.Key, List<NextAction>> next, Set<Violation.Key> violations, NextAction action) {
        violations.forEach(violation ->
                next.computeIfAbsent(violation, _ -> new ArrayList<>()).add(action));
    }
}
