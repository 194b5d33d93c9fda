package dev.genv.enforcer.enforcement.dispatch;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.safeguard.OldObservation;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The actions of one host. Each result counts as soon as it exists, also if the cycle no longer waits for it. */
final class HostBatch {
    private final Map<Action, PlannedAction> byAction;
    private final List<Action> actions;
    private final OldObservation expiry;
    private final Listener listener;
    private final Map<PlannedAction, Result> results = new HashMap<>();
    private boolean ended;

    /** Called with each result as soon as it exists, by the thread that executes. */
    @FunctionalInterface
    interface Listener {
        /**
         * Records a result.
         *
         * @param late whether the cycle of the batch has ended without it
         */
        void record(PlannedAction planned, Result result, boolean late);
    }

    HostBatch(List<Order.Run> runs, OldObservation expiry, Listener listener) {
        byAction = runs.stream()
                .map(Order.Run::planned)
                .collect(Collectors.toMap(PlannedAction::action, Function.identity(), (one, _) -> one));
        actions = runs.stream().map(run -> run.planned().action()).toList();
        this.expiry = expiry;
        this.listener = listener;
    }

    /** Executes the actions, unless their observation is too old by now. */
    void execute(Host host) throws UnreachableException, InterruptedException {
        if (expiry.applies()) {
            byAction.forEach(
                    (action, planned) -> record(action, expiry.hold(planned).result()));
        } else {
            host.execute(actions, this::record);
        }
    }

    Collection<PlannedAction> planned() {
        return byAction.values();
    }

    /** Returns the results so far, by the action. Each later result is late. */
    synchronized Map<PlannedAction, Result> end() {
        ended = true;
        return Map.copyOf(results);
    }

    synchronized boolean hasResult(PlannedAction planned) {
        return results.containsKey(planned);
    }

    private synchronized boolean add(PlannedAction planned, Result result) {
        results.put(planned, result);
        return ended;
    }

    private void record(Action action, Result result) {
        var planned = byAction.get(action);
        if (planned != null) {
            listener.record(planned, result, add(planned, result));
        }
    }
}
