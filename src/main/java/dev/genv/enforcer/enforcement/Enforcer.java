package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.ActionExecutor;
import dev.genv.enforcer.enforcement.action.ActionRecord;
import dev.genv.enforcer.enforcement.action.GracePeriods;
import dev.genv.enforcer.enforcement.action.ObservationAge;
import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.enforcement.clock.CycleClock;
import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationCollector;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.policy.plan.Plan;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Runs cycles, one at a time. A failure of a cycle does not end the service. */
public final class Enforcer {
    private static final Logger LOG = Logger.getLogger(Enforcer.class);

    private final Setup setup;
    private final Ticker ticker;
    private final CycleClock clock;
    private final Journal journal;
    private final HostWorkers workers;
    private final ObservationCollector collector;
    private final GracePeriods grace;
    private final ActionExecutor executor;
    private final List<Consumer<CycleReport>> listeners;
    private final ProblemLog problems;
    private final AtomicBoolean running = new AtomicBoolean();
    private final long createdAt;
    private volatile @Nullable Latest latest;

    /**
     * The configuration of the cycles.
     *
     * @param hosts supplies the hosts at the start of every cycle; their names are unique
     * @param remote whether the hosts are other machines, not the node
     * @param signals whether processes may be signalled at all
     * @param safetyLimits the grace periods and limits
     * @param interval the time from one cycle to the next; zero for a single cycle
     * @param observationTimeout the time limit for observing a host
     * @param actionTimeout the time limit for the actions on a host
     * @param quiet whether hosts that do not answer are left out of the log
     */
    public record Setup(
            Supplier<List<Host>> hosts,
            boolean remote,
            Policy policy,
            ServiceMode mode,
            boolean signals,
            SafetyLimits safetyLimits,
            Duration interval,
            Duration observationTimeout,
            Duration actionTimeout,
            boolean quiet) {}

    /**
     * Creates an enforcer.
     *
     * @param listeners called at the end of every cycle
     */
    public Enforcer(Setup setup, Journal journal, Ticker ticker, List<Consumer<CycleReport>> listeners) {
        this.setup = setup;
        this.ticker = ticker;
        this.journal = journal;
        this.listeners = List.copyOf(listeners);
        workers = new HostWorkers(setup.hosts(), setup.remote(), ticker);
        problems = new ProblemLog(setup.quiet());
        collector = new ObservationCollector(setup.observationTimeout(), ticker);
        clock = new CycleClock(ticker, setup.interval());
        grace = new GracePeriods(setup.safetyLimits(), setup.interval(), clock.ticker());
        var limits = new ActionExecutor.Limits(
                setup.mode(),
                rule -> setup.policy().modeOf(rule) == RuleMode.ENFORCE,
                setup.signals(),
                setup.safetyLimits(),
                setup.actionTimeout());
        executor = new ActionExecutor(workers, limits, grace, ticker, clock.ticker());
        createdAt = ticker.mark();
    }

    /** The last cycle, and when it ended by the ticker's mark. */
    private record Latest(CycleReport report, long endedAt) {}

    /** Runs a cycle; returns empty if another one still runs. */
    public Optional<CycleReport> runCycle() {
        if (!running.compareAndSet(false, true)) {
            LOG.warn("The previous cycle still runs: this one is skipped");
            return Optional.empty();
        }
        try {
            var startedAt = ticker.now();
            var start = ticker.mark();
            CycleReport report;
            try {
                report = cycle(startedAt, start);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                report = failedReport(startedAt, start, "interrupted");
            } catch (RuntimeException
                    | Error e) { // errors too, for example a lack of memory: the next cycle may succeed
                LOG.error("A cycle failed; the next one starts as scheduled", e);
                report = failedReport(startedAt, start, e.toString());
            }
            latest = new Latest(report, ticker.mark());
            notifyListeners(report);
            return Optional.of(report);
        } finally {
            running.set(false);
        }
    }

    private CycleReport cycle(Instant startedAt, long start) throws InterruptedException {
        var age = new ObservationAge(ticker, setup.interval(), setup.observationTimeout());
        var hosts = collector.collect(workers.update(), processesToVerify());
        age.observed();
        var seenAt = ticker.now();
        var appearances = grace.recordState(hosts);
        var fleet = new Fleet(hosts.stream().map(HostReport::snapshot).toList(), setup.remote(), appearances);
        var plan = setup.policy().check(fleet, executor.recentlySignalled());
        var changes = grace.recordViolations(plan);
        var done = executor.execute(plan, hosts, age, gone -> setup.policy().check(fleet, gone));
        var reports =
                HostProblems.of(done.problems(), plan.problems()).addTo(DeniedPrivileges.addTo(hosts, done.records()));
        problems.log(reports);
        clock.endCycle();
        var update = recordCycle(fleet, plan, new Journal.CycleOutcome(done.records(), changes, ended(hosts), seenAt));
        return new CycleReport(
                startedAt,
                ticker.since(start),
                resultOf(hosts, done.records()),
                fleet,
                reports,
                plan,
                done.records(),
                update.appeared(),
                null);
    }

    /** Starts nothing new from now on, and stops the waits of a running cycle. */
    public void stop() {
        executor.stop();
        workers.abandon();
    }

    public boolean isRunning() {
        return running.get();
    }

    public Optional<CycleReport> latest() {
        return Optional.ofNullable(latest).map(Latest::report);
    }

    /** How long ago the last cycle ended, or the service started if there was none, by the monotonic clock. */
    public Duration sinceLatest() {
        var last = latest;
        return ticker.since(last == null ? createdAt : last.endedAt());
    }

    /** The clocks of the cycles. */
    public Ticker ticker() {
        return ticker;
    }

    public Policy policy() {
        return setup.policy();
    }

    public boolean isRemote() {
        return setup.remote();
    }

    private Journal.Update recordCycle(Fleet fleet, Plan plan, Journal.CycleOutcome cycleOutcome) {
        var update = journal.update(plan, cycleOutcome, this::effectiveMode, fleet);
        grace.retainViolations(journal.active());
        ActionLog.log(fleet, update);
        return update;
    }

    private Set<HostProcess> processesToVerify() {
        var processes = new HashSet<>(executor.pending());
        processes.addAll(journal.processesToVerify());
        return processes;
    }

    private static Set<HostProcess> ended(List<HostReport> hosts) {
        return hosts.stream()
                .flatMap(host -> host.ended().stream().map(process -> new HostProcess(host.host(), process)))
                .collect(Collectors.toUnmodifiableSet());
    }

    private RuleMode effectiveMode(RuleDefinition rule) {
        return setup.mode() == ServiceMode.AUDIT
                ? RuleMode.AUDIT
                : setup.policy().modeOf(rule);
    }

    private static CycleResult resultOf(List<HostReport> hosts, List<ActionRecord> actions) {
        if (!hosts.stream().allMatch(HostReport::isComplete)) {
            return CycleResult.INCOMPLETE;
        }
        return actions.stream().anyMatch(action -> action.result().outcome().isFailure())
                ? CycleResult.ACTION_FAILED
                : CycleResult.SUCCESS;
    }

    private CycleReport failedReport(Instant startedAt, long start, String why) {
        var fleet = new Fleet(List.of(), setup.remote());
        return new CycleReport(
                startedAt,
                ticker.since(start),
                CycleResult.FAILED,
                fleet,
                List.of(),
                Plan.EMPTY,
                List.of(),
                List.of(),
                HostProblems.escape(why));
    }

    private void notifyListeners(CycleReport report) {
        for (var listener : listeners) {
            try {
                listener.accept(report);
            } catch (RuntimeException | Error e) {
                LOG.error("A listener failed", e);
            }
        }
    }
}
