package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.clock.CycleClock;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.dispatch.Execution;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.history.Evidence;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.report.ActionLog;
import dev.genv.enforcer.enforcement.report.CycleEvents;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.enforcement.report.CycleResult;
import dev.genv.enforcer.enforcement.report.ProblemLog;
import dev.genv.enforcer.enforcement.safeguard.Orders;
import dev.genv.enforcer.enforcement.safeguard.Safeguards;
import dev.genv.enforcer.enforcement.termination.Review;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.policy.plan.Plan;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;

/** Records a cycle at its end: in the log, in the registry, as events, and for the decisions of later cycles. */
final class CycleRecorder {
    private final EnforcerConfig config;
    private final ViolationRegistry registry;
    private final EventLog events;
    private final CycleMemory memory;
    private final Safeguards safeguards;
    private final CycleClock clock;
    private final NextActions nextActions;
    private final ProblemLog problems;
    private final Ticker ticker;

    /**
     * The start of a cycle.
     *
     * @param mark by the monotonic clock
     */
    record Start(Instant at, long mark) {
        static Start now(Ticker ticker) {
            return new Start(ticker.now(), ticker.mark());
        }
    }

    CycleRecorder(
            EnforcerConfig config,
            Records records,
            CycleMemory memory,
            Safeguards safeguards,
            NextActions nextActions,
            CycleClock clock,
            Ticker ticker) {
        this.config = config;
        this.memory = memory;
        registry = records.registry();
        events = records.events();
        this.safeguards = safeguards;
        this.nextActions = nextActions;
        this.clock = clock;
        this.ticker = ticker;
        problems = new ProblemLog(config.quiet());
    }

    /** Records a cycle that came to its end. */
    CycleReport record(Start start, Evidence evidence, Review review, Orders orders, Execution execution) {
        var seen = evidence.seen();
        var plan = evidence.plan();
        var actions = Stream.of(memory.takeRestoredActions(), execution.late(), review.records(), execution.records())
                .flatMap(List::stream)
                .toList();
        safeguards.record(execution.records());
        var reports = HostProblems.of(execution.problems(), plan.problems())
                .onEachHost(Stream.concat(memory.problems().stream(), config.serviceProblems().get().stream())
                        .toList())
                .addTo(DeniedPrivileges.addTo(seen.hosts(), actions));
        var changes = problems.log(reports);
        var next = nextActions.of(evidence, orders, execution.records());
        clock.endCycle();
        var outcome = new ViolationRegistry.CycleOutcome(actions, seen.ended(), seen.at(), next);
        var update = registry.record(plan, outcome, config::effectiveMode, seen.fleet());
        var numbered = events.number(ticker.now(), CycleEvents.of(changes, update));
        memory.commit(numbered, seen.at());
        registry.publish();
        events.publish(numbered);
        ActionLog.log(seen.fleet(), update);
        return new CycleReport(
                start.at(),
                ticker.since(start.mark()),
                resultOf(seen.hosts(), actions),
                seen.fleet(),
                reports,
                plan,
                actions,
                update.appeared());
    }

    /** Reports a cycle that failed. It lets no grace pass. */
    CycleReport failed(Start start, String why) {
        return new CycleReport(
                start.at(),
                ticker.since(start.mark()),
                CycleResult.FAILED,
                new Fleet(List.of(), config.remote()),
                List.of(),
                Plan.EMPTY,
                List.of(),
                List.of(),
                HostProblems.escape(why));
    }

    private static CycleResult resultOf(List<HostReport> hosts, List<ActionRecord> actions) {
        if (!hosts.stream().allMatch(HostReport::isComplete)) {
            return CycleResult.INCOMPLETE;
        }
        return actions.stream().anyMatch(action -> action.result().outcome().isFailure())
                ? CycleResult.ACTION_FAILED
                : CycleResult.SUCCESS;
    }
}
