package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.HostProblem;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.PlannedAction;
import dev.genv.enforcer.policy.RuleName;
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

/** The only place that knows what is really done: audit mode, immunity, second thoughts, the brake, one signal at a time. */
final class ActionExecutor {
    private final Workers workers;
    private final Limits limits;
    private final Ticker ticker;
    private final Grace grace;
    private final AskedProcesses asked;
    private final Brake brake;
    private final StrangerGrace strangers;
    private final Veto veto;
    private volatile boolean stopped;

    /**
     * What it may do.
     *
     * @param isEnforced whether anything is done about the violations of a rule
     * @param signals whether processes may be signalled at all
     * @param restraint what holds it back
     * @param timeout how long a host may take for its part of a plan
     */
    record Limits(
            ServiceMode mode, Predicate<RuleName> isEnforced, boolean signals, Restraint restraint, Duration timeout) {}

    /** What came of a plan, and what the hosts' readers must know besides. */
    record Execution(List<ActionRecord> records, List<HostProblem> problems) {}

    /**
     * Prepares it.
     *
     * @param ticker for deadlines
     * @param counted for what counts towards an action
     */
    ActionExecutor(Workers workers, Limits limits, Grace grace, Ticker ticker, Ticker counted) {
        this.workers = workers;
        this.limits = limits;
        this.grace = grace;
        this.ticker = ticker;
        this.strangers = new StrangerGrace(limits.restraint().detachedGrace(), counted);
        this.veto = new Veto(limits, grace, strangers);
        this.brake = new Brake(limits.restraint().mostTerminations(), counted);
        this.asked = new AskedProcesses(
                limits.restraint().killAfter(), limits.restraint().compliancePeriod(), counted);
    }

    /** All processes that were asked to end and are not known to have. */
    Set<HostProcess> asked() {
        return asked.all();
    }

    /** The processes that were asked to end so short a while ago that they count as gone. */
    Set<HostProcess> justAsked() {
        return asked.justAsked();
    }

    /** Nothing is begun any more. */
    void stop() {
        stopped = true;
    }

    /**
     * Does what is to be done.
     *
     * @param age of the observation that the plan is made for
     * @param again makes the plan again, with other processes that count as gone
     * @return a record of each action; none for a process that was asked before, for it is asked once
     */
    Execution execute(Plan plan, List<HostReport> hosts, ObservationAge age, Function<Set<HostProcess>, Plan> again)
            throws InterruptedException {
        var records = new ArrayList<ActionRecord>();
        strangers.record(hosts, plan);
        asked.keepOnly(hosts.stream().map(HostReport::host).collect(Collectors.toUnmodifiableSet()));
        for (var host : hosts) {
            asked.ended(host).forEach(last -> records.add(record(last, Result.of(Outcome.EXITED))));
        }
        var followUp = new FollowUp(asked, veto::isDue, again).of(plan, hosts);
        followUp.unkillable()
                .forEach(planned ->
                        records.add(record(planned, new Result(Outcome.UNKILLABLE, "SIGKILL did not end it"))));
        var due = new ArrayList<>(followUp.kills());
        plan.actions().stream().filter(planned -> !wasAsked(planned.action())).forEach(due::add);
        var results = reasonsToSkip(due, hosts);
        var heldBack = brake.heldBack(
                due.stream().filter(planned -> !results.containsKey(planned)).toList(), subordinateUids(hosts));
        heldBack.forEach(planned -> results.put(planned, brake.reason()));
        perform(due, age, results);
        brake.note(results);
        due.forEach(planned -> records.add(record(planned, results.getOrDefault(planned, Result.failed("not done")))));
        return new Execution(records, brake.problems(heldBack));
    }

    private Map<PlannedAction, Result> reasonsToSkip(List<PlannedAction> due, List<HostReport> hosts) {
        var watched = new HashMap<String, HostReport>();
        hosts.forEach(host -> watched.put(host.host(), host));
        var results = new HashMap<PlannedAction, Result>();
        for (var planned : due) {
            var reason = veto.reason(planned, watched.get(planned.action().host()));
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

    /** Does what has no result yet. */
    private void perform(List<PlannedAction> due, ObservationAge age, Map<PlannedAction, Result> results)
            throws InterruptedException {
        var byHost = new LinkedHashMap<String, List<PlannedAction>>();
        for (var planned : due) {
            if (!results.containsKey(planned)) {
                byHost.computeIfAbsent(planned.action().host(), _ -> new ArrayList<>())
                        .add(planned);
            }
        }
        perform(byHost, age, results);
    }

    /** Every host does its part at the same time as the others. */
    private void perform(
            Map<String, List<PlannedAction>> byHost, ObservationAge age, Map<PlannedAction, Result> results)
            throws InterruptedException {
        var start = ticker.mark();
        var parts = new ArrayList<HostPart>();
        for (var each : byHost.entrySet()) {
            parts.add(new HostPart(each.getValue(), age, this::done));
        }
        for (var part : parts) {
            part.begin(workers.of(part.host()));
        }
        // Nobody waits long for a host that did nothing the last time, while others wait for the next cycle.
        var alone = workers.count() == 1;
        for (var part : parts) {
            if (alone || !part.isDoubtful()) {
                results.putAll(part.await(left(limits.timeout(), start), true));
            }
        }
        for (var part : parts) {
            if (!alone && part.isDoubtful()) {
                var most = limits.timeout().dividedBy(Collector.PART_FOR_DOUBTFUL_HOSTS);
                results.putAll(part.await(left(most, start), false));
            }
        }
    }

    private Duration left(Duration most, long start) {
        var left = most.minus(ticker.since(start));
        return left.isPositive() ? left : Duration.ofNanos(1);
    }

    /** Also told by a worker that nobody waits for any longer: what it did is done. */
    private void done(PlannedAction planned, Result result) {
        if (planned.action() instanceof Action.Terminate terminate) {
            if (result.outcome() == Outcome.SIGNALLED) {
                asked.signalled(planned, terminate);
            } else if (result.unsure()) {
                asked.perhapsSignalled(planned, terminate);
            }
        }
        // What we may have taken out was not taken out by a stranger.
        if ((result.outcome() == Outcome.DETACHED || result.unsure())
                && planned.action() instanceof Action.Detach detach) {
            grace.detached(detach);
        }
    }

    private boolean wasAsked(Action action) {
        return action instanceof Action.Terminate terminate && asked.contains(terminate.target());
    }

    private ActionRecord record(PlannedAction planned, Result result) {
        return new ActionRecord(planned, result, ticker.now());
    }
}
