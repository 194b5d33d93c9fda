package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Safeguards.OldObservation;
import dev.genv.enforcer.enforcement.action.Safeguards.Orders;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.HostTasks;
import dev.genv.enforcer.enforcement.host.HostTasks.HostAnswer;
import dev.genv.enforcer.enforcement.host.HostWorker;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.HostProblem;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Executes the orders of a cycle, on all hosts at the same time. */
public final class ActionDispatcher {
    private final HostWorkers workers;
    private final Duration timeout;
    private final BiConsumer<PlannedAction, Result> listener;
    private final ActionIntents intents;
    private final Ticker ticker;

    /** Each host gets the timeout for its actions. The listener gets each result when it arrives, on any thread. */
    public ActionDispatcher(
            HostWorkers workers,
            Duration timeout,
            BiConsumer<PlannedAction, Result> listener,
            ActionIntents intents,
            Ticker ticker) {
        this.workers = workers;
        this.intents = intents;
        this.timeout = timeout;
        this.listener = listener;
        this.ticker = ticker;
    }

    /** Executes the orders, and returns a record of each. */
    public Execution execute(Orders orders) throws InterruptedException {
        var batches = batches(orders);
        intents.begin(batches.values().stream()
                .flatMap(batch -> batch.planned().stream())
                .toList());
        var failures = execute(batches);
        var late = new ArrayList<>(intents.unrecorded());
        var records = orders.all().stream()
                .map(order -> switch (order) {
                    case Order.Hold hold -> new ActionRecord(hold.planned(), hold.result(), ticker.now());
                    case Order.Run(var planned) ->
                        take(planned, late).orElseGet(() -> {
                            var why = failures.getOrDefault(planned.action().host(), "not done");
                            return new ActionRecord(planned, Result.failed(why), ticker.now());
                        });
                })
                .toList();
        return new Execution(late, records, orders.problems());
    }

    private static Optional<ActionRecord> take(PlannedAction planned, List<ActionRecord> results) {
        var found =
                results.stream().filter(each -> each.planned().equals(planned)).findFirst();
        found.ifPresent(results::remove);
        return found;
    }

    private Map<String, HostBatch> batches(Orders orders) {
        var runs = orders.all().stream()
                .filter(Order.Run.class::isInstance)
                .map(Order.Run.class::cast)
                .collect(Collectors.groupingBy(
                        run -> run.planned().action().host(), LinkedHashMap::new, Collectors.toList()));
        var batches = new LinkedHashMap<String, HostBatch>();
        runs.forEach((host, ofHost) -> batches.put(host, new HostBatch(ofHost, orders.expiry(), this::record)));
        return batches;
    }

    /** Returns why hosts gave no result, by the host's name. */
    private Map<String, String> execute(Map<String, HostBatch> batches) throws InterruptedException {
        var failures = new HashMap<String, String>();
        var tasks = new HostTasks<Boolean>(HostWorker.Kind.EXECUTE, timeout, ticker);
        for (var batch : batches.entrySet()) {
            var worker = workers.worker(batch.getKey());
            if (worker == null) {
                failures.put(batch.getKey(), "the host is no longer in the list");
                endWithoutResult(batch.getValue());
            } else if (!tasks.start(worker, () -> {
                execute(batch.getValue(), worker.host());
                return true;
            })) {
                endWithoutResult(batch.getValue());
            }
        }
        for (var answer : tasks.await(workers.count() > 1)) {
            if (answer instanceof HostAnswer.Failed<Boolean>(var host, var why, var _)) {
                failures.put(host, String.valueOf(why.getMessage()));
            }
        }
        return failures;
    }

    /** Executes a batch. An action without a result was not executed, unless its execution failed in an unknown way. */
    private void execute(HostBatch batch, Host host) throws UnreachableException, InterruptedException {
        try {
            batch.execute(host);
        } catch (UnreachableException e) {
            endWithoutResult(batch);
            throw e;
        }
        endWithoutResult(batch);
    }

    private void endWithoutResult(HostBatch batch) {
        batch.planned().stream()
                .filter(planned -> !batch.hasResult(planned))
                .forEach(planned -> intents.end(planned, null));
    }

    private void record(PlannedAction planned, Result result) {
        listener.accept(planned, result);
        intents.end(planned, result);
    }

    /** The actions of one host. */
    static final class HostBatch {
        private final Map<Action, PlannedAction> byAction;
        private final List<Action> actions;
        private final OldObservation expiry;
        private final BiConsumer<PlannedAction, Result> listener;
        private final Set<PlannedAction> done = new HashSet<>();

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
                        (action, planned) -> record(action, expiry.hold(planned).result()));
            } else {
                host.execute(actions, this::record);
            }
        }

        Collection<PlannedAction> planned() {
            return byAction.values();
        }

        synchronized boolean hasResult(PlannedAction planned) {
            return done.contains(planned);
        }

        private synchronized void add(PlannedAction planned) {
            done.add(planned);
        }

        private void record(Action action, Result result) {
            var planned = byAction.get(action);
            if (planned != null) {
                listener.accept(planned, result);
                add(planned);
            }
        }
    }

    /**
     * What was executed.
     *
     * @param late the results of earlier actions that no cycle has recorded
     * @param records the results of the orders of this cycle
     */
    public record Execution(List<ActionRecord> late, List<ActionRecord> records, List<HostProblem> problems) {}
}
