package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.host.HostException;
import dev.genv.enforcer.enforcement.host.HostWorker;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The actions of one host in a plan. Results that came before the time limit count even if the batch is abandoned. */
final class HostBatch {
    private static final Result TOO_OLD = new Result(
            Outcome.SKIPPED_GRACE,
            "the service was suspended after the observation, or its clock was set: the next cycle decides again");

    private final List<PlannedAction> planned;
    private final ObservationAge age;
    private final BiConsumer<PlannedAction, Result> listener;
    private final Map<Action, PlannedAction> byAction;
    private final Map<PlannedAction, Result> results = new ConcurrentHashMap<>();
    private HostWorker.@Nullable Pending<Boolean> pending;
    private @Nullable HostException refusal;
    private boolean suspect;

    /**
     * Creates a batch.
     *
     * @param age of the observation that the actions are planned for
     * @param listener called with each result as soon as it exists, by another thread
     */
    HostBatch(List<PlannedAction> planned, ObservationAge age, BiConsumer<PlannedAction, Result> listener) {
        this.planned = planned;
        this.age = age;
        this.listener = listener;
        this.byAction =
                planned.stream().collect(Collectors.toMap(PlannedAction::action, Function.identity(), (one, _) -> one));
    }

    String host() {
        return planned.getFirst().action().host();
    }

    void begin(@Nullable HostWorker worker) {
        try {
            if (worker == null) {
                throw new HostException("the host is no longer in the list");
            }
            suspect = worker.failure(HostWorker.Kind.EXECUTE) != null;
            pending = worker.start(HostWorker.Kind.EXECUTE, () -> {
                var actions = planned.stream().map(PlannedAction::action).toList();
                if (age.isTooOld()) {
                    actions.forEach(action -> record(action, TOO_OLD));
                } else {
                    worker.host().execute(actions, this::record);
                }
                return true;
            });
        } catch (HostException e) {
            refusal = e;
        }
    }

    /** Whether the last execution on this host failed. */
    boolean isSuspect() {
        return suspect;
    }

    /**
     * Waits, and returns the results that exist by then.
     *
     * @param giveUp whether to abandon the batch after that time
     */
    Map<PlannedAction, Result> await(Duration timeout, boolean giveUp) throws InterruptedException {
        var all = new HashMap<PlannedAction, Result>();
        try {
            if (pending == null) {
                throw refusal == null ? new HostException("no execution was started") : refusal;
            }
            if (giveUp) {
                pending.await(timeout);
            } else {
                pending.awaitWithoutAbandoning(timeout);
            }
        } catch (HostException e) {
            planned.forEach(each -> all.put(each, Result.failed(String.valueOf(e.getMessage()))));
        }
        all.putAll(results);
        return all;
    }

    private void record(Action action, Result result) {
        var its = byAction.get(action);
        if (its != null) {
            results.put(its, result);
            listener.accept(its, result);
        }
    }
}
