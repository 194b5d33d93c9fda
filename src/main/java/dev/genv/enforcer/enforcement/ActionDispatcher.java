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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Executes the orders of a cycle, on all hosts at the same time. */
public final class ActionDispatcher {
    private final HostWorkers workers;
    private final Duration timeout;
    private final BiConsumer<PlannedAction, Result> memory;
    private final ActionIntents intents;
    private final Ticker ticker;
    private final Queue<ActionRecord> late = new ConcurrentLinkedQueue<>();

    /** Each host gets the timeout for its actions. The memory remembers the results for the next cycles. */
    public ActionDispatcher(
            HostWorkers workers,
            Duration timeout,
            BiConsumer<PlannedAction, Result> memory,
            ActionIntents intents,
            Ticker ticker) {
        this.workers = workers;
        this.intents = intents;
        this.timeout = timeout;
        this.memory = memory;
        this.ticker = ticker;
    }

    /** Executes the orders, and returns a record of each. */
    public Execution execute(Orders orders) throws InterruptedException {
        var batches = batches(orders);
        intents.begin(batches.values().stream()
                .flatMap(batch -> batch.planned().stream())
                .toList());
        var failures = execute(batches);
        var results = new HashMap<PlannedAction, Result>();
        batches.values().forEach(batch -> results.putAll(batch.end()));
        var records = orders.all().stream()
                .map(order -> new ActionRecord(
                        order.planned(),
                        switch (order) {
                            case Order.Hold hold -> hold.result();
                            case Order.Run(var planned) -> {
                                var failure =
                                        failures.getOrDefault(planned.action().host(), "not done");
                                yield results.getOrDefault(planned, Result.failed(failure));
                            }
                        },
                        ticker.now()))
                .toList();
        return new Execution(takeLate(), records, orders.problems());
    }

    /** Returns each late result once. One batch of each host can be late at a time. */
    private List<ActionRecord> takeLate() {
        var taken = new ArrayList<ActionRecord>();
        for (var record = late.poll(); record != null; record = late.poll()) {
            taken.add(record);
        }
        return taken;
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

    private void record(PlannedAction planned, Result result, boolean afterCycle) {
        if (afterCycle) {
            late.add(new ActionRecord(planned, result, ticker.now()));
        }
        memory.accept(planned, result);
        intents.end(planned, result);
    }

    /** The actions of one host. Each result counts as soon as it exists, also if the cycle no longer waits for it. */
    static final class HostBatch {
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

    /**
     * What was executed.
     *
     * @param late the results of orders of earlier cycles that came after their end
     * @param records the results of the orders of this cycle
     */
    public record Execution(List<ActionRecord> late, List<ActionRecord> records, List<HostProblem> problems) {}
}
