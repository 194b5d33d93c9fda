package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.PlannedAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The only place that knows what is really done: audit mode, signals switched off, one signal to a process. */
final class ActionExecutor {
    /** How long what an asked process holds counts as freed. */
    static final Duration COUNTS_AS_FREED = Duration.ofSeconds(60);

    private static final Duration REMEMBERED = Duration.ofHours(1);

    private final Map<String, HostWorker> workers;
    private final Limits limits;
    private final Ticker ticker;
    private final Map<HostProcess, Long> asked = new HashMap<>();
    private volatile boolean stopped;

    /**
     * What it may do.
     *
     * @param signals whether processes may be signalled at all
     * @param timeout how long a host may take for its part of a plan
     */
    record Limits(ServiceMode mode, boolean signals, Duration timeout) {}

    ActionExecutor(List<HostWorker> workers, Limits limits, Ticker ticker) {
        this.workers = workers.stream()
                .collect(Collectors.toMap(worker -> worker.host().name(), worker -> worker));
        this.limits = limits;
        this.ticker = ticker;
    }

    /** The processes that were asked to end so short a while ago that they count as gone. */
    Set<HostProcess> justAsked() {
        return asked.entrySet().stream()
                .filter(entry -> ticker.since(entry.getValue()).compareTo(COUNTS_AS_FREED) < 0)
                .map(Map.Entry::getKey)
                .collect(Collectors.toUnmodifiableSet());
    }

    /** All processes that were asked to end and are not known to have. */
    Set<HostProcess> asked() {
        return Set.copyOf(asked.keySet());
    }

    /** Nothing is begun any more. */
    void stop() {
        stopped = true;
    }

    /**
     * Does what is to be done.
     *
     * @return a record of each action; none for a process that was asked before, for it is asked once
     */
    List<ActionRecord> execute(List<PlannedAction> actions) throws InterruptedException {
        var results = new HashMap<PlannedAction, Result>();
        var due =
                actions.stream().filter(planned -> !wasAsked(planned.action())).toList();
        // Two pieces of work: a detachment that waits too long for its lock must not lose what came of the signals.
        var signals = new LinkedHashMap<String, List<PlannedAction>>();
        var detachments = new LinkedHashMap<String, List<PlannedAction>>();
        for (var planned : due) {
            var skipped = reasonToSkip(planned);
            if (skipped != null) {
                results.put(planned, skipped);
            } else {
                (planned.action() instanceof Action.Terminate ? signals : detachments)
                        .computeIfAbsent(planned.action().host(), _ -> new ArrayList<>())
                        .add(planned);
            }
        }
        perform(signals, results);
        perform(detachments, results);
        return due.stream()
                .map(planned -> new ActionRecord(
                        planned, results.getOrDefault(planned, Result.failed("not done")), ticker.now()))
                .toList();
    }

    /**
     * Forgets the processes of this host that are no longer there; not at once, for the GPU tool may lose sight of one for
     * a while, and it must not be asked a second time for that.
     */
    void keepOnly(String host, Set<HostProcess> present) {
        asked.entrySet()
                .removeIf(entry -> entry.getKey().host().equals(host)
                        && !present.contains(entry.getKey())
                        && ticker.since(entry.getValue()).compareTo(REMEMBERED) > 0);
    }

    private @Nullable Result reasonToSkip(PlannedAction planned) {
        if (limits.mode() == ServiceMode.AUDIT) {
            return new Result(Outcome.SKIPPED_AUDIT, "the service only audits");
        }
        if (!planned.enforced()) {
            return new Result(Outcome.SKIPPED_AUDIT, "the rule only audits");
        }
        if (!limits.signals() && planned.action() instanceof Action.Terminate) {
            return new Result(Outcome.SKIPPED_AUDIT, "GENV_TERMINATE_PROCESSES is 0");
        }
        return stopped ? Result.failed("the service is being stopped") : null;
    }

    /** Every host does its part at the same time as the others. */
    private void perform(Map<String, List<PlannedAction>> byHost, Map<PlannedAction, Result> results)
            throws InterruptedException {
        var start = ticker.mark();
        var pending = new LinkedHashMap<String, HostWorker.Pending<Map<Action, Result>>>();
        for (var part : byHost.entrySet()) {
            try {
                pending.put(part.getKey(), begin(part.getKey(), part.getValue()));
            } catch (HostException e) {
                note(part.getValue(), failed(part.getValue(), e), results);
            }
        }
        for (var part : pending.entrySet()) {
            var planned = byHost.getOrDefault(part.getKey(), List.of());
            try {
                var left = limits.timeout().minus(ticker.since(start));
                note(planned, part.getValue().await(left.isPositive() ? left : Duration.ofNanos(1)), results);
            } catch (HostException e) {
                note(planned, failed(planned, e), results);
            }
        }
    }

    private HostWorker.Pending<Map<Action, Result>> begin(String host, List<PlannedAction> planned)
            throws HostException {
        var worker = workers.get(host);
        if (worker == null) {
            throw new HostException("no such host");
        }
        var actions = planned.stream().map(PlannedAction::action).toList();
        var done = new ConcurrentHashMap<Action, Result>();
        return worker.start(() -> {
            worker.host().perform(actions, done::put);
            return done;
        });
    }

    private static Map<Action, Result> failed(List<PlannedAction> planned, HostException why) {
        return planned.stream()
                .collect(Collectors.toMap(
                        PlannedAction::action, _ -> Result.failed(String.valueOf(why.getMessage())), (one, _) -> one));
    }

    private void note(List<PlannedAction> planned, Map<Action, Result> came, Map<PlannedAction, Result> results) {
        for (var each : planned) {
            var result = came.get(each.action());
            if (result == null) {
                continue;
            }
            results.put(each, result);
            if (result.outcome() == Outcome.SIGNALLED && each.action() instanceof Action.Terminate terminate) {
                asked.put(terminate.target(), ticker.mark());
            }
        }
    }

    private boolean wasAsked(Action action) {
        return action instanceof Action.Terminate terminate && asked.containsKey(terminate.target());
    }
}
