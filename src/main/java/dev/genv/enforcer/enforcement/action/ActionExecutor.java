package dev.genv.enforcer.enforcement.action;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationCollector;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.HostProblem;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.policy.plan.PlannedAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Decides which planned actions are executed, and executes them: safeguards, escalation, termination limit, one signal for each
 * process. */
public final class ActionExecutor {
    private final HostWorkers workers;
    private final Limits limits;
    private final Ticker ticker;
    private final GracePeriods grace;
    private final PendingTerminations pending;
    private final TerminationLimit terminationLimit;
    private final StrangerGracePeriods strangers;
    private final Safeguards safeguards;
    private volatile boolean stopped;

    /**
     * What the executor may do.
     *
     * @param isEnforced whether the service acts on the violations of a rule
     * @param signals whether processes may be signalled at all
     * @param safetyLimits the limits and grace periods
     * @param timeout how long a host may take for its actions
     */
    public record Limits(
            ServiceMode mode,
            Predicate<RuleDefinition> isEnforced,
            boolean signals,
            SafetyLimits safetyLimits,
            Duration timeout) {}

    /** The results of a plan, and the problems that it showed. */
    public record Execution(List<ActionRecord> records, List<HostProblem> problems) {}

    /**
     * Creates an executor.
     *
     * @param ticker for deadlines
     * @param counted for what counts towards an action
     */
    public ActionExecutor(HostWorkers workers, Limits limits, GracePeriods grace, Ticker ticker, Ticker counted) {
        this.workers = workers;
        this.limits = limits;
        this.grace = grace;
        this.ticker = ticker;
        this.strangers = new StrangerGracePeriods(limits.safetyLimits().stateChangeGrace(), counted);
        this.safeguards = new Safeguards(limits, grace, strangers);
        this.terminationLimit = new TerminationLimit(limits.safetyLimits().maxTerminations(), counted);
        this.pending = new PendingTerminations(
                limits.safetyLimits().killAfter(), limits.safetyLimits().compliancePeriod(), counted);
    }

    /** Returns all processes that were signalled and have not exited, as far as is known. */
    public Set<HostProcess> pending() {
        return pending.all();
    }

    /** Returns the processes that were signalled so recently that rules treat them as gone. */
    public Set<HostProcess> recentlySignalled() {
        return pending.recentlySignalled();
    }

    /** Starts no further action. */
    public void stop() {
        stopped = true;
    }

    /**
     * Executes a plan.
     *
     * @param age of the observation that the plan is made for
     * @param again checks the policy again with other processes treated as gone
     * @return a record of each action; none for a process that was signalled before, because it is signalled once
     */
    public Execution execute(
            Plan plan, List<HostReport> hosts, ObservationAge age, Function<Set<HostProcess>, Plan> again)
            throws InterruptedException {
        var records = new ArrayList<ActionRecord>();
        strangers.record(hosts, plan);
        pending.keepOnly(hosts.stream().map(HostReport::host).collect(Collectors.toUnmodifiableSet()));
        for (var host : hosts) {
            pending.removeEnded(host).forEach(last -> records.add(record(last, Result.of(Outcome.EXITED))));
        }
        var followUp = new KillEscalation(pending, safeguards::isDue, again).escalate(plan, hosts);
        followUp.unkillable()
                .forEach(planned ->
                        records.add(record(planned, new Result(Outcome.UNKILLABLE, "SIGKILL did not terminate it"))));
        var due = new ArrayList<>(followUp.kills());
        plan.actions().stream()
                .filter(planned -> !wasSignalled(planned.action()))
                .forEach(due::add);
        var results = reasonsToSkip(due, hosts);
        var deferred = terminationLimit.selectDeferred(
                due.stream().filter(planned -> !results.containsKey(planned)).toList(), subordinateUids(hosts));
        deferred.forEach(planned -> results.put(planned, terminationLimit.reason()));
        dispatch(due, age, results);
        terminationLimit.record(results);
        due.forEach(planned -> records.add(record(planned, results.getOrDefault(planned, Result.failed("not done")))));
        return new Execution(records, terminationLimit.problems(deferred));
    }

    private Map<PlannedAction, Result> reasonsToSkip(List<PlannedAction> due, List<HostReport> hosts) {
        var watched = new HashMap<String, HostReport>();
        hosts.forEach(host -> watched.put(host.host(), host));
        var results = new HashMap<PlannedAction, Result>();
        for (var planned : due) {
            var reason = safeguards.reason(planned, watched.get(planned.action().host()));
            if (reason != null) {
                results.put(planned, reason);
            } else if (stopped) {
                results.put(planned, Result.failed("the service is being stopped"));
            }
        }
        return results;
    }

    private static Map<String, SubordinateUids> subordinateUids(List<HostReport> hosts) {
        var ofHosts = new HashMap<String, SubordinateUids>();
        hosts.forEach(host -> ofHosts.put(host.host(), host.snapshot().subordinateUids()));
        return ofHosts;
    }

    /** Dispatches the actions that have no result yet. */
    private void dispatch(List<PlannedAction> due, ObservationAge age, Map<PlannedAction, Result> results)
            throws InterruptedException {
        var byHost = new LinkedHashMap<String, List<PlannedAction>>();
        for (var planned : due) {
            if (!results.containsKey(planned)) {
                byHost.computeIfAbsent(planned.action().host(), _ -> new ArrayList<>())
                        .add(planned);
            }
        }
        dispatch(byHost, age, results);
    }

    /** All hosts execute their actions at the same time. */
    private void dispatch(
            Map<String, List<PlannedAction>> byHost, ObservationAge age, Map<PlannedAction, Result> results)
            throws InterruptedException {
        var start = ticker.mark();
        var parts = new ArrayList<HostBatch>();
        for (var each : byHost.entrySet()) {
            parts.add(new HostBatch(each.getValue(), age, this::recordResult));
        }
        for (var part : parts) {
            part.begin(workers.worker(part.host()));
        }
        // A host that gave no result last time is waited for only briefly, because the other hosts wait for the next
        // cycle.
        var alone = workers.count() == 1;
        for (var part : parts) {
            if (alone || !part.isSuspect()) {
                results.putAll(part.await(remaining(limits.timeout(), start), true));
            }
        }
        for (var part : parts) {
            if (!alone && part.isSuspect()) {
                var most = limits.timeout().dividedBy(ObservationCollector.SUSPECT_HOST_DIVISOR);
                results.putAll(part.await(remaining(most, start), false));
            }
        }
    }

    private Duration remaining(Duration most, long start) {
        var left = most.minus(ticker.since(start));
        return left.isPositive() ? left : Duration.ofNanos(1);
    }

    /** Also called by a worker whose result is no longer awaited: its actions count. */
    private void recordResult(PlannedAction planned, Result result) {
        if (planned.action() instanceof Action.Terminate terminate) {
            if (result.outcome() == Outcome.SIGNALLED) {
                pending.signalled(planned, terminate);
            } else if (result.uncertain()) {
                pending.possiblySignalled(planned, terminate);
            }
        }
        // An attachment that the service may have removed was not removed by another user.
        if ((result.outcome() == Outcome.DETACHED || result.uncertain())
                && planned.action() instanceof Action.Detach detach) {
            grace.detached(detach);
        }
    }

    private boolean wasSignalled(Action action) {
        return action instanceof Action.Terminate terminate && pending.contains(terminate.target());
    }

    private ActionRecord record(PlannedAction planned, Result result) {
        return new ActionRecord(planned, result, ticker.now());
    }
}
