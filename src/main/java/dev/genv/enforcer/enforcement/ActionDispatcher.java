package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.Gate.Verdict;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.HostTasks;
import dev.genv.enforcer.enforcement.host.HostWorker;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;

/**
 * Executes the actions of a cycle, on all hosts at the same time. A result counts when it arrives, also if its cycle has ended or failed
 * meanwhile.
 *
 * @param arrived the results that no cycle has recorded, in the order of their arrival
 */
record ActionDispatcher(
        EnforcerConfig config,
        HostWorkers workers,
        Terminations terminations,
        Ticker ticker,
        Queue<ActionRecord> arrived) {
    /** Creates a dispatcher that begins with what an earlier run left. */
    ActionDispatcher(EnforcerConfig config, HostWorkers workers, Terminations terminations, Ticker ticker) {
        this(config, workers, terminations, ticker, new ConcurrentLinkedQueue<>(terminations.unrecorded()));
    }

    /**
     * What was executed.
     *
     * @param answers the results that hosts gave to the actions of this cycle and to earlier ones
     * @param records the results of the actions of this cycle
     */
    record Execution(List<ActionRecord> answers, List<ActionRecord> records) {
        /** Returns the results of earlier actions. */
        List<ActionRecord> late() {
            var ofCycle = new IdentityHashMap<PlannedAction, Boolean>();
            records.forEach(done -> ofCycle.put(done.planned(), true));
            return answers.stream()
                    .filter(done -> !ofCycle.containsKey(done.planned()))
                    .toList();
        }
    }

    /** Executes what happens now, unless the observation that it rests on is too old by then, and returns the result of each action. */
    Execution execute(Map<PlannedAction, Verdict> verdicts, ObservationAge age) throws InterruptedException {
        var failures = executeOnHosts(verdicts, age);
        var answers = List.copyOf(arrived);
        var byAction = new IdentityHashMap<PlannedAction, ActionRecord>();
        answers.forEach(done -> byAction.put(done.planned(), done));
        var records = new ArrayList<ActionRecord>();
        verdicts.forEach((planned, verdict) -> {
            switch (verdict) {
                case Verdict.Now() ->
                    records.add(
                            Objects.requireNonNullElseGet(byAction.get(planned), () -> unanswered(planned, failures)));
                case Verdict.Never(var result) -> records.add(new ActionRecord(planned, result, ticker.now()));
                case Verdict.Wait wait ->
                    wait.result().ifPresent(result -> records.add(new ActionRecord(planned, result, ticker.now())));
            }
        });
        return new Execution(answers, records);
    }

    /** Forgets these answers, which a cycle has remembered for the next commit. */
    void forget(Execution execution) {
        execution.answers().forEach(_ -> arrived.remove());
    }

    private ActionRecord unanswered(PlannedAction planned, Map<String, String> failures) {
        var why = failures.getOrDefault(planned.action().host(), "not done");
        var result = terminations.isBegun(planned) ? Result.lost(why) : Result.failed(why);
        return logged(new ActionRecord(planned, result, ticker.now()));
    }

    /** Returns why hosts gave no result, by the host's name. */
    private Map<String, String> executeOnHosts(Map<PlannedAction, Verdict> verdicts, ObservationAge age)
            throws InterruptedException {
        var failures = new HashMap<String, String>();
        var tasks =
                new HostTasks<Boolean>(HostWorker.Kind.EXECUTE, config.timing().action(), ticker);
        var byHost = verdicts.keySet().stream()
                .filter(planned -> verdicts.get(planned) instanceof Verdict.Now)
                .collect(Collectors.groupingBy(
                        planned -> planned.action().host(), LinkedHashMap::new, Collectors.toList()));
        byHost.forEach((host, ofHost) -> {
            var worker = workers.worker(host);
            if (worker == null) {
                failures.put(host, "the host is no longer configured");
                ofHost.forEach(terminations::abandon);
            } else if (!tasks.start(worker, () -> {
                executeOn(worker.host(), ofHost, age);
                return true;
            })) {
                ofHost.forEach(terminations::abandon);
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
    private void executeOn(Host host, List<PlannedAction> ofHost, ObservationAge age)
            throws UnreachableException, InterruptedException {
        var due = new LinkedHashMap<Action, PlannedAction>();
        for (var planned : ofHost) {
            var isTooOld = Gate.tooOld(age);
            if (isTooOld.isPresent()) {
                end(planned, isTooOld.get());
            } else if (planned.isSigterm() && !terminations.isBegun(planned)) {
                end(planned, Result.failed("the result of an earlier signal came meanwhile"));
            } else {
                due.put(planned.action(), planned);
            }
        }
        try {
            if (!due.isEmpty()) {
                host.execute(List.copyOf(due.keySet()), (action, result) -> {
                    var planned = due.remove(action);
                    if (planned != null) {
                        end(planned, result);
                    }
                });
            }
        } catch (UnreachableException e) {
            due.values().forEach(terminations::abandon);
            throw e;
        }
        due.values().forEach(terminations::abandon);
    }

    /** Remembers and logs a result when it arrives, on any thread. */
    private void end(PlannedAction planned, Result result) {
        var done = new ActionRecord(planned, result, ticker.now());
        terminations.remember(done);
        arrived.add(logged(done));
    }

    private ActionRecord logged(ActionRecord done) {
        ActionLog.logResult(new Fleet(List.of(), config.remote()), done);
        return done;
    }
}
