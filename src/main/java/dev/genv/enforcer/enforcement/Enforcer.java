package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.ActionDispatcher.Execution;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Gate.Verdict;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import io.quarkus.arc.All;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Runs cycles, one at a time. A failure of a cycle does not end the service. */
@Singleton
public final class Enforcer {
    private static final Logger LOG = Logger.getLogger(Enforcer.class);

    private final EnforcerConfig config;
    private final CycleStore store;
    private final List<CycleListener> listeners;
    private final Ticker ticker;
    private final CycleClock clock;
    private final HostWorkers workers;
    private final History history;
    private final Terminations terminations;
    private final Gate gate;
    private final ActionDispatcher dispatcher;
    private final ProblemLog problems;
    private final AtomicBoolean running = new AtomicBoolean();
    /** Of which no event tells yet, because no cycle has ended since. */
    private final List<String> policyChanges = new ArrayList<>();

    private final Instant startedAt;
    private final long createdAt;
    private volatile @Nullable Latest latest;

    /** Creates an enforcer that continues from what is stored, and calls the listeners at the end of every cycle. */
    @Inject
    Enforcer(EnforcerConfig config, CycleStore store, @All List<CycleListener> listeners, Ticker ticker) {
        this.config = config;
        this.store = store;
        this.listeners = List.copyOf(listeners);
        this.ticker = ticker;
        var limits = config.safetyLimits();
        clock = new CycleClock(ticker, config.timing().interval());
        workers =
                new HostWorkers(config.hosts(), config.remote(), config.timing().observation(), ticker);
        history = new History(config.enforcement(), config.timing().interval(), clock.ticker());
        terminations = new Terminations(limits, clock.ticker());
        gate = new Gate(config.enforcement(), history, limits.maxTerminations(), clock.ticker());
        problems = new ProblemLog(config.quiet());
        if (store.restore(clock, config.policies(), terminations, history, ticker.now())) {
            gate.holdSigterm(limits.timeAfterSignal());
        }
        dispatcher = new ActionDispatcher(config, workers, terminations, ticker);
        startedAt = ticker.now();
        createdAt = ticker.mark();
    }

    /** The last cycle, and when it ended by the ticker's mark. */
    private record Latest(CycleReport report, long endedAt) {}

    /** The kinds of entries that the store keeps for the next run. */
    public static List<SavedKind<?, ?>> savedKinds() {
        return List.of(
                History.HOSTS,
                History.ACCOUNTS,
                History.CLOCKS,
                History.IDLE,
                Terminations.TERMINATIONS,
                CurrentPolicy.POLICIES,
                DeliveryCursors.POSITIONS);
    }

    /** Runs a cycle; returns empty if another one still runs. */
    public Optional<CycleReport> runCycle() {
        if (!running.compareAndSet(false, true)) {
            LOG.warn("The previous cycle still runs: this one is skipped");
            return Optional.empty();
        }
        try {
            var age = new ObservationAge(
                    ticker, config.timing().interval(), config.timing().observation());
            try {
                return Optional.of(cycle(age));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return Optional.of(failed(age, "interrupted"));
            } catch (RuntimeException
                    | Error e) { // errors too, for example a lack of memory: the next cycle may succeed
                LOG.error("A cycle failed; the next one starts as scheduled", e);
                return Optional.of(failed(age, e.toString()));
            }
        } finally {
            running.set(false);
        }
    }

    /**
     * Runs one cycle. All hosts are observed, the rules are checked, and a process that breaks a rule is planned for SIGTERM. A
     * process that was signalled is not planned for SIGTERM again while its termination is pending: the termination is reviewed,
     * and SIGKILL follows if it still breaks a rule when its time is over. The gate may hold back an action, for example
     * because a grace period has not passed. The remaining actions are executed on their hosts, and everything is recorded for the
     * report and for the next cycle.
     */
    private CycleReport cycle(ObservationAge age) throws InterruptedException {
        var changes = config.policies().begin(ticker.now(), clock.ticker().mark());
        if (!changes.isEmpty()) {
            LOG.infof("The policy changed: %s", String.join("; ", ActionLog.limit(changes, "changes")));
            policyChanges.addAll(changes);
            history.forgetUnenforced();
        }
        var fleet = history.remember(observe(processesToVerify(), age), workers::remembered);
        var leaving = terminations.leaving(history.observedAt());
        gate.compare(
                config.policies().earlier(history.observedAt()),
                earlier -> terminations.continued(earlier.check(fleet, leaving, gate::isDue), fleet));
        var plan = config.policy().check(fleet, leaving, gate::isDue);
        history.remember(plan, gate::isInForce);
        var review = terminations.review(plan, fleet, history, gate);
        var verdicts = gate.judge(review.actions());
        ActionLog.logNew(store.registry().unknown(plan.violations())); // before the actions that follow from them
        store.begin(terminations.begin(verdicts)); // on the disk before the first signal
        var execution = dispatcher.execute(verdicts, age);
        return complete(age, fleet, plan, review.records(), verdicts, execution);
    }

    /** Observes the present hosts, and verifies whether these processes have exited. */
    private Fleet observe(Set<HostProcess> verified, ObservationAge age) throws InterruptedException {
        var snapshots = workers.observe(history::remembered, config.policies().observed(), verified);
        age.observed();
        return new Fleet(snapshots, config.remote(), ticker.now());
    }

    /** Returns the processes for which the hosts verify whether they have exited. */
    private Set<HostProcess> processesToVerify() {
        var processes = new HashSet<>(terminations.all());
        processes.addAll(store.registry().processesToVerify());
        return processes;
    }

    /** Completes a cycle: logs and stores it, publishes its events, and remembers what later cycles decide by. */
    private CycleReport complete(
            ObservationAge age,
            Fleet fleet,
            Plan plan,
            List<ActionRecord> reviewed,
            Map<PlannedAction, Verdict> verdicts,
            Execution execution) {
        var actions = Stream.of(execution.late(), reviewed, execution.records())
                .flatMap(List::stream)
                .toList();
        gate.remember(execution.answers());
        var general = Stream.concat(
                        store.problems().stream(), listeners.stream().flatMap(listener -> listener.problems().stream()))
                .toList();
        var ofHosts = Stream.concat(gate.problems(verdicts).stream(), plan.problems().stream())
                .toList();
        var reported = HostProblems.addTo(HostProblems.addDeniedPrivileges(fleet, actions), general, ofHosts);
        var problemChanges = problems.log(reported.snapshots());
        var next = gate.next(verdicts, execution.records(), terminations.nextSignals(plan, fleet), fleet.at());
        clock.endCycle();
        var update = store.registry().remember(plan, fleet, actions, next, config::effectiveMode);
        store.remember(actions, update.actions());
        dispatcher.forget(execution);
        var events = store.events().number(ticker.now(), contents(List.copyOf(policyChanges), problemChanges, update));
        store.commit(events, fleet.at(), clock, config.policies(), terminations, history);
        policyChanges.clear();
        store.registry().publish();
        var report = end(new CycleReport(
                age.begunAt(),
                age.elapsed(),
                resultOf(fleet, actions),
                reported,
                plan,
                actions,
                update.appeared(),
                null));
        store.events().publish(events); // after the listeners know the users whom they inform
        ActionLog.logEnd(fleet, update);
        return report;
    }

    /** Returns the events in their order: changes of the policy, problems, new violations, actions, resolved violations. */
    private static List<EventContent> contents(
            List<String> policyChanges, ProblemLog.Changes problems, ViolationRegistry.Update update) {
        var events = new ArrayList<EventContent>();
        if (!policyChanges.isEmpty()) {
            events.add(new EventContent.PolicyChanged(ActionLog.limit(policyChanges, "changes")));
        }
        problems.ended().forEach(each -> events.add(new EventContent.ProblemEnded(each.host(), each.problem())));
        problems.began().forEach(each -> events.add(new EventContent.ProblemBegan(each.host(), each.problem())));
        update.appeared().forEach(each -> events.add(new EventContent.ViolationOpened(each)));
        events.addAll(update.notes());
        update.resolved().forEach(each -> events.add(new EventContent.ViolationResolved(each)));
        return events;
    }

    /** Reports a cycle that failed. It lets no grace pass. */
    private CycleReport failed(ObservationAge age, String why) {
        return end(new CycleReport(
                age.begunAt(),
                age.elapsed(),
                CycleResult.FAILED,
                new Fleet(List.of(), config.remote()),
                Plan.EMPTY,
                List.of(),
                List.of(),
                HostProblems.escape(why)));
    }

    private static CycleResult resultOf(Fleet fleet, List<ActionRecord> actions) {
        if (!fleet.snapshots().stream().allMatch(Snapshot::isObservedCompletely)) {
            return CycleResult.INCOMPLETE;
        }
        return actions.stream().anyMatch(action -> action.result().outcome().isFailure())
                ? CycleResult.ACTION_FAILED
                : CycleResult.SUCCESS;
    }

    /** Makes this report the latest one, and passes it to the listeners. */
    private CycleReport end(CycleReport report) {
        latest = new Latest(report, ticker.mark());
        for (var listener : listeners) {
            try {
                listener.accept(report);
            } catch (RuntimeException | Error e) {
                LOG.error("A listener failed", e);
            }
        }
        return report;
    }

    /** Starts nothing new from now on, and stops the waits of a running cycle. */
    public void stop() {
        gate.stop();
        workers.abandon();
    }

    public boolean isRunning() {
        return running.get();
    }

    /** Whether a cycle runs, or what a cycle abandoned: the task of a host, which may have to kill a child process. */
    public boolean isBusy() {
        return running.get() || workers.areBusy();
    }

    /** When the service was started, by the wall clock. */
    public Instant startedAt() {
        return startedAt;
    }

    public Optional<CycleReport> latest() {
        return Optional.ofNullable(latest).map(Latest::report);
    }

    /** How long ago the last cycle ended, or the service started if there was none, by the monotonic clock. */
    public Duration sinceLatest() {
        var last = latest;
        return ticker.since(last == null ? createdAt : last.endedAt());
    }
}
