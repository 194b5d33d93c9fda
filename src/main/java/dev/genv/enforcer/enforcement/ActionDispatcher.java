package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.HostTasks;
import dev.genv.enforcer.enforcement.host.HostWorker;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/** Executes the orders of a cycle, on all hosts at the same time. */
record ActionDispatcher(
        EnforcerConfig config, HostWorkers workers, ActionIntents intents, Terminations terminations, Ticker ticker) {

    /**
     * What was executed.
     *
     * @param late the results of earlier actions that no cycle has recorded
     * @param records the results of the orders of this cycle
     */
    record Execution(List<ActionRecord> late, List<ActionRecord> records) {}

    /**
     * Executes what was begun of the orders, unless the observation that they rest on is too old by then, and returns the result of each
     * order.
     */
    Execution execute(List<Order> orders, List<ActionRecord> begun, ObservationAge age) throws InterruptedException {
        var failures = executeOnHosts(begun, age);
        var ended = new LinkedHashMap<Long, ActionRecord>();
        intents.unrecorded().forEach(done -> ended.put(done.id(), done));
        var records = new ArrayList<ActionRecord>();
        var its = begun.iterator(); // one for each order to run, in the same order
        for (var order : orders) {
            records.add(
                    switch (order) {
                        case Order.Hold hold -> new ActionRecord(hold.planned(), hold.result(), ticker.now());
                        case Order.Run(var planned) -> {
                            var why = failures.getOrDefault(planned.action().host(), "not done");
                            yield Objects.requireNonNullElseGet(
                                    ended.remove(its.next().id()),
                                    () -> new ActionRecord(planned, Result.failed(why), ticker.now()));
                        }
                    });
        }
        return new Execution(List.copyOf(ended.values()), records);
    }

    /** Returns why hosts gave no result, by the host's name. */
    private Map<String, String> executeOnHosts(List<ActionRecord> begun, ObservationAge age)
            throws InterruptedException {
        var failures = new HashMap<String, String>();
        var tasks = new HostTasks<Boolean>(HostWorker.Kind.EXECUTE, config.actionTimeout(), ticker);
        var byHost = begun.stream()
                .collect(Collectors.groupingBy(
                        intent -> intent.planned().action().host(), LinkedHashMap::new, Collectors.toList()));
        byHost.forEach((host, ofHost) -> {
            var worker = workers.worker(host);
            if (worker == null) {
                failures.put(host, "the host is no longer in the list");
                ofHost.forEach(intents::abandon);
            } else if (!tasks.start(worker, () -> {
                executeOn(worker.host(), ofHost, age);
                return true;
            })) {
                ofHost.forEach(intents::abandon);
            }
        });
        for (var answer : tasks.await(workers.count() > 1)) {
            if (answer.failure() != null) {
                failures.put(answer.host(), String.valueOf(answer.failure().getMessage()));
            }
        }
        return failures;
    }

    /** Executes the actions of a host. One without a result was not executed, unless the execution failed in an unknown way. */
    private void executeOn(Host host, List<ActionRecord> begun, ObservationAge age)
            throws UnreachableException, InterruptedException {
        var due = new LinkedHashMap<Action, ActionRecord>();
        for (var intent : begun) {
            Gate.tooOld(intent.planned(), age)
                    .ifPresentOrElse(
                            hold -> end(intent, hold.result()),
                            () -> due.put(intent.planned().action(), intent));
        }
        try {
            if (!due.isEmpty()) {
                host.execute(List.copyOf(due.keySet()), (action, result) -> {
                    var intent = due.get(action);
                    if (intent != null) {
                        end(intent, result);
                    }
                });
            }
        } catch (UnreachableException e) {
            begun.forEach(intents::abandon);
            throw e;
        }
        begun.forEach(intents::abandon);
    }

    /** Remembers and logs a result when it arrives, on any thread. */
    private void end(ActionRecord intent, Result result) {
        var done = new ActionRecord(intent.id(), intent.planned(), result, ticker.now());
        terminations.record(done);
        ActionLog.logResult(new Fleet(List.of(), config.remote()), done);
        intents.end(done);
    }
}
