package dev.genv.enforcer.enforcement.dispatch;

import dev.genv.enforcer.enforcement.action.Order;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.safeguard.OldObservation;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The actions of one host. Each result counts as soon as it exists, even if the batch is abandoned. */
final class HostBatch {
    private final Map<Action, PlannedAction> byAction;
    private final List<Action> actions;
    private final OldObservation expiry;
    private final BiConsumer<PlannedAction, Result> listener;
    private final Map<PlannedAction, Result> results = new ConcurrentHashMap<>();

    /**
     * Creates a batch.
     *
     * @param listener called with each result as soon as it exists, by the thread that executes
     */
    HostBatch(List<Order.Run> runs, OldObservation expiry, BiConsumer<PlannedAction, Result> listener) {
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
                    (action, planned) -> record(action, expiry.skip(planned).result()));
        } else {
            host.execute(actions, this::record);
        }
    }

    Collection<PlannedAction> planned() {
        return byAction.values();
    }

    Optional<Result> resultOf(PlannedAction planned) {
        return Optional.ofNullable(results.get(planned));
    }

    private void record(Action action, Result result) {
        var planned = byAction.get(action);
        if (planned != null) {
            results.put(planned, result);
            listener.accept(planned, result);
        }
    }
}
