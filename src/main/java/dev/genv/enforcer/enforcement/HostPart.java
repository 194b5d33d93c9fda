package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.PlannedAction;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The part of one host in what is to be done. What it did before it was given up is known all the same. */
final class HostPart {
    private static final Result TOO_OLD = new Result(
            Outcome.SKIPPED_GRACE,
            "the service stood still since the observation, or its clock was set: the next cycle decides anew");

    private final List<PlannedAction> planned;
    private final ObservationAge age;
    private final BiConsumer<PlannedAction, Result> listener;
    private final Map<Action, PlannedAction> byAction;
    private final Map<PlannedAction, Result> results = new ConcurrentHashMap<>();
    private HostWorker.@Nullable Pending<Boolean> pending;
    private @Nullable HostException refusal;
    private boolean doubtful;

    /**
     * Prepares it.
     *
     * @param age of the observation that the actions are planned for
     * @param listener told of each result as soon as it is there, by another thread
     */
    HostPart(List<PlannedAction> planned, ObservationAge age, BiConsumer<PlannedAction, Result> listener) {
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
                throw new HostException("no such host");
            }
            doubtful = worker.failure(HostWorker.Kind.ACT) != null;
            pending = worker.start(HostWorker.Kind.ACT, () -> {
                var actions = planned.stream().map(PlannedAction::action).toList();
                if (age.isTooOld()) {
                    actions.forEach(action -> done(action, TOO_OLD));
                } else {
                    worker.host().perform(actions, this::done);
                }
                return true;
            });
        } catch (HostException e) {
            refusal = e;
        }
    }

    /** Whether it failed the last time that something was to be done there. */
    boolean isDoubtful() {
        return doubtful;
    }

    /**
     * One result for each of its actions, as far as there are results by then.
     *
     * @param giveUp whether it is asked to stop where it is not done by then
     */
    Map<PlannedAction, Result> await(Duration timeout, boolean giveUp) throws InterruptedException {
        var all = new HashMap<PlannedAction, Result>();
        try {
            if (pending == null) {
                throw refusal == null ? new HostException("not asked") : refusal;
            }
            if (giveUp) {
                pending.await(timeout);
            } else {
                pending.awaitPatiently(timeout);
            }
        } catch (HostException e) {
            planned.forEach(each -> all.put(each, Result.failed(String.valueOf(e.getMessage()))));
        }
        all.putAll(results);
        return all;
    }

    private void done(Action action, Result result) {
        var its = byAction.get(action);
        if (its != null) {
            results.put(its, result);
            listener.accept(its, result);
        }
    }
}
