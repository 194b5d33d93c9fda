package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.Gate.Verdict;
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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Returns which actions follow a cycle if nothing changes, and not before when. It decides nothing. */
record NextActions(Gate gate, Terminations pending, Ticker ticker) {
    /**
     * Returns the actions that follow on each violation, the earliest first: those that are held back for a time, those that failed, and
     * the next signals of signalled processes.
     */
    Map<Violation.Key, List<NextAction>> of(Plan plan, Fleet fleet, List<Order> orders, List<ActionRecord> results) {
        var next = new HashMap<Violation.Key, List<NextAction>>();
        var signals = pending.nextSignals();
        var signalled = signals.keySet().stream()
                .map(signal -> ((Action.Terminate) signal.action()).target()) // no other action is a signal
                .collect(Collectors.toUnmodifiableSet());
        var until = new HashMap<PlannedAction, Order.Until>();
        for (var order : orders) {
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
                        .ifPresent(its -> add(next, planned, its));
            }
        }
        signals.forEach((signal, its) -> {
            var observed = asObserved(signal, fleet);
            if (!(gate.judge(observed) instanceof Verdict.Never)) {
                add(next, withPlannedCauses(observed, plan), its);
            }
        });
        next.values().forEach(actions -> actions.sort(Comparator.comparing(NextAction::notBefore)));
        return next;
    }

    /** Whether the next cycle decides again about an action that it was decided to execute. */
    private static boolean isRepeated(ActionRecord done) {
        var outcome = done.result().outcome();
        var isLate = outcome == Outcome.SKIPPED_STALE;
        return outcome == Outcome.DENIED || outcome == Outcome.FAILED || isLate;
    }

    /** Returns a signal with its process as it is now: its user may have become exempt. */
    private static PlannedAction asObserved(PlannedAction planned, Fleet fleet) {
        var signal = (Action.Terminate) planned.action();
        var action = fleet.host(signal.host())
                .flatMap(host -> host.process(signal.process().id()))
                .map(process -> new Action.Terminate(signal.host(), process, signal.signal()))
                .orElse(signal);
        return new PlannedAction(action, planned.causes(), planned.enforced());
    }

    private static PlannedAction withPlannedCauses(PlannedAction signal, Plan plan) {
        var target = ((Action.Terminate) signal.action()).target();
        var planned = plan.terminations().getOrDefault(target, List.of());
        var causes = Stream.concat(signal.causes().stream(), planned.stream()).toList();
        return new PlannedAction(signal.action(), causes, signal.enforced());
    }

    private static void add(Map<Violation.Key, List<NextAction>> next, PlannedAction planned, Order.Until until) {
        var action = NextAction.of(planned.action(), until.at(), until.because());
        planned.causes().stream()
                .map(Violation::key)
                .distinct()
                .forEach(violation ->
                        next.computeIfAbsent(violation, _ -> new ArrayList<>()).add(action));
    }
}
