package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
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

/** Runs cycles, never two at a time, and none that ends the service. */
public final class Enforcer {
    private static final Logger LOG = Logger.getLogger(Enforcer.class);

    private final Setup setup;
    private final Ticker ticker;
    private final CycleClock clock;
    private final Journal journal;
    private final Workers workers;
    private final Collector collector;
    private final Grace grace;
    private final ActionExecutor executor;
    private final List<Consumer<CycleReport>> listeners;
    private final ProblemLog problems;
    private final AtomicBoolean running = new AtomicBoolean();
    private final long createdAt;
    private volatile @Nullable Latest latest;

    /**
     * What the cycles are about.
     *
     * @param hosts asked at the beginning of every cycle; no two have the same name
     * @param remote whether the hosts are other machines than our own
     * @param signals whether processes may be signalled at all
     * @param restraint what holds it back
     * @param interval from one cycle to the next; zero for a single one
     * @param lookTimeout how long a host may take to be looked at
     * @param actTimeout how long a host may take to do its part
     * @param quiet whether the log says nothing of hosts that do not answer
     */
    public record Setup(
            Supplier<List<Host>> hosts,
            boolean remote,
            Policy policy,
            ServiceMode mode,
            boolean signals,
            Restraint restraint,
            Duration interval,
            Duration lookTimeout,
            Duration actTimeout,
            boolean quiet) {}

    /**
     * Puts it together.
     *
     * @param listeners told of every cycle at its end
     */
    public Enforcer(Setup setup, Journal journal, Ticker ticker, List<Consumer<CycleReport>> listeners) {
        this.setup = setup;
        this.ticker = ticker;
        this.journal = journal;
        this.listeners = List.copyOf(listeners);
        workers = new Workers(setup.hosts(), setup.remote(), ticker);
        problems = new ProblemLog(setup.quiet());
        collector = new Collector(setup.lookTimeout(), ticker);
        clock = new CycleClock(ticker, setup.interval());
        grace = new Grace(setup.restraint(), setup.interval(), clock.ticker());
        var limits = new ActionExecutor.Limits(
                setup.mode(),
                rule -> setup.policy().modeOf(rule) == RuleMode.ENFORCE,
                setup.signals(),
                setup.restraint(),
                setup.actTimeout());
        executor = new ActionExecutor(workers, limits, grace, ticker, clock.ticker());
        createdAt = ticker.mark();
    }

    /** A finished cycle and the moment it ended, by the ticker's mark. */
    private record Latest(CycleReport report, long endedAt) {}

    /** Runs a cycle; nothing comes back where another one is still under way. */
    public Optional<CycleReport> runCycle() {
        if (!running.compareAndSet(false, true)) {
            LOG.warn("The last cycle is still under way: this one is left out");
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
                report = brokenOff(startedAt, start, "interrupted");
            } catch (RuntimeException | Error e) { // also when the memory runs out: the next cycle may fare better
                LOG.error("A cycle broke off; the next one will be tried as usual", e);
                report = brokenOff(startedAt, start, e.toString());
            }
            latest = new Latest(report, ticker.mark());
            tell(report);
            return Optional.of(report);
        } finally {
            running.set(false);
        }
    }

    private CycleReport cycle(Instant startedAt, long start) throws InterruptedException {
        var age = new ObservationAge(ticker, setup.interval(), setup.lookTimeout());
        var hosts = collector.collect(workers.update(), processesToVerify());
        age.observed();
        var seenAt = ticker.now();
        var appearances = grace.see(hosts);
        var fleet = new Fleet(hosts.stream().map(HostReport::snapshot).toList(), setup.remote(), appearances);
        var plan = setup.policy().check(fleet, executor.justAsked());
        var changes = grace.begin(plan);
        var done = executor.execute(plan, hosts, age, gone -> setup.policy().check(fleet, gone));
        var reports = Judgement.of(done.problems(), plan.problems()).addedTo(hosts);
        problems.tell(reports);
        clock.endCycle();
        var update = remember(fleet, plan, new Journal.News(done.records(), changes, ended(hosts), seenAt));
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

    /** Nothing new is begun from now on, and what a cycle under way still waits for is given up. */
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

    /** How long ago the last cycle ended, or the service was started if there was none yet; not by the time of day. */
    public Duration sinceLatest() {
        var last = latest;
        return ticker.since(last == null ? createdAt : last.endedAt());
    }

    /** By which the cycles go. */
    public Ticker ticker() {
        return ticker;
    }

    public Policy policy() {
        return setup.policy();
    }

    public boolean isRemote() {
        return setup.remote();
    }

    private Journal.Update remember(Fleet fleet, Plan plan, Journal.News news) {
        var update = journal.update(plan, news, this::effectiveMode, fleet);
        grace.forgetAllBut(journal.active());
        ActionLog.tell(fleet, update);
        return update;
    }

    private Set<HostProcess> processesToVerify() {
        var processes = new HashSet<>(executor.asked());
        processes.addAll(journal.processesToVerify());
        return processes;
    }

    private static Set<HostProcess> ended(List<HostReport> hosts) {
        return hosts.stream()
                .flatMap(host -> host.ended().stream().map(process -> new HostProcess(host.host(), process)))
                .collect(Collectors.toUnmodifiableSet());
    }

    private RuleMode effectiveMode(RuleName rule) {
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

    private CycleReport brokenOff(Instant startedAt, long start, String why) {
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
                Judgement.harmless(why));
    }

    private void tell(CycleReport report) {
        for (var listener : listeners) {
            try {
                listener.accept(report);
            } catch (RuntimeException | Error e) {
                LOG.error("A listener failed", e);
            }
        }
    }
}
