package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Safeguards;
import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.HostWorkers;
import dev.genv.enforcer.enforcement.host.ObservationAge;
import dev.genv.enforcer.enforcement.host.ObservationCollector;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import io.quarkus.arc.All;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Runs cycles, one at a time. A failure of a cycle does not end the service. */
@Singleton
public final class Enforcer {
    private static final Logger LOG = Logger.getLogger(Enforcer.class);

    /** How long a process counts as perhaps signalled if SIGKILL is disabled. */
    private static final Duration PERHAPS_SIGNALLED = Duration.ofSeconds(60);

    private final EnforcerConfig config;
    private final HostWorkers workers;
    private final ObservationCollector collector;
    private final History history;
    private final Terminations terminations;
    private final Safeguards safeguards;
    private final ActionIntents intents;
    private final ActionDispatcher dispatcher;
    private final ViolationRegistry registry;
    private final CycleRecorder recorder;
    private final List<CycleListener> listeners;
    private final Ticker ticker;
    private final AtomicBoolean running = new AtomicBoolean();
    private final Instant startedAt;
    private final long createdAt;
    private volatile @Nullable Latest latest;

    /** Creates an enforcer that calls the listeners at the end of every cycle. Everything is restored by then. */
    @Inject
    Enforcer(
            EnforcerConfig config,
            Restoration restoration,
            HostWorkers workers,
            ObservationCollector collector,
            History history,
            Terminations terminations,
            Safeguards safeguards,
            ActionIntents intents,
            ActionDispatcher dispatcher,
            ViolationRegistry registry,
            CycleRecorder recorder,
            @All List<CycleListener> listeners,
            Ticker ticker) {
        this.config = config;
        this.workers = workers;
        this.collector = collector;
        this.history = history;
        this.terminations = terminations;
        this.safeguards = safeguards;
        this.intents = intents;
        this.dispatcher = dispatcher;
        this.registry = registry;
        this.recorder = recorder;
        this.listeners = List.copyOf(listeners);
        this.ticker = ticker;
        if (restoration.hasLost()) {
            safeguards.holdSigterm(
                    Objects.requireNonNullElse(config.safetyLimits().killAfter(), PERHAPS_SIGNALLED));
        }
        startedAt = ticker.now();
        createdAt = ticker.mark();
    }

    /** The last cycle, and when it ended by the ticker's mark. */
    private record Latest(CycleReport report, long endedAt) {}

    /** The kinds of entries that the store keeps for the next run. */
    public static List<SavedKind<?, ?>> savedKinds() {
        return List.of(
                History.HOSTS, History.CLOCKS, History.IDLE, Terminations.TERMINATIONS, DeliveryCursors.POSITIONS);
    }

    /** Runs a cycle; returns empty if another one still runs. */
    public Optional<CycleReport> runCycle() {
        if (!running.compareAndSet(false, true)) {
            LOG.warn("The previous cycle still runs: this one is skipped");
            return Optional.empty();
        }
        try {
            var age = new ObservationAge(ticker, config.interval(), config.observationTimeout());
            CycleReport report;
            try {
                report = cycle(age);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                report = recorder.failed(age, "interrupted");
            } catch (RuntimeException
                    | Error e) { // errors too, for example a lack of memory: the next cycle may succeed
                LOG.error("A cycle failed; the next one starts as scheduled", e);
                report = recorder.failed(age, e.toString());
            }
            latest = new Latest(report, ticker.mark());
            notifyListeners(report);
            return Optional.of(report);
        } finally {
            running.set(false);
        }
    }

    /**
     * Runs one cycle. All hosts are observed, the rules are checked, and a process that breaks a rule is planned for SIGTERM. A
     * process that was signalled is not planned for SIGTERM again while its termination is pending: the termination is reviewed,
     * and SIGKILL follows if it still breaks a rule when its time is over. Each safeguard may hold back an action, for example
     * because a grace period has not passed. The remaining actions are executed on their hosts, and everything is recorded for the
     * report and for the next cycle.
     */
    private CycleReport cycle(ObservationAge age) throws InterruptedException {
        var fleet = history.record(observe(processesToVerify(), age), workers::listings);
        var plan = config.policy().check(fleet, terminations.leaving(history.recordedAt()));
        history.record(plan);
        var review = terminations.review(plan, fleet, history);
        var orders = safeguards.screen(review.actions(), fleet, history);
        recorder.announce(plan);
        var begun = intents.begin(orders); // on the disk before the first signal
        var execution = dispatcher.execute(orders, begun, age);
        return recorder.record(age, fleet, plan, review.records(), orders, execution);
    }

    /** Observes the present hosts, and verifies whether these processes have exited. */
    private Fleet observe(Set<HostProcess> verified, ObservationAge age) throws InterruptedException {
        var snapshots = collector.collect(workers.update(history::listings), verified);
        age.observed();
        return new Fleet(snapshots, config.remote(), ticker.now());
    }

    /** Returns the processes for which the hosts verify whether they have exited. */
    private Set<HostProcess> processesToVerify() {
        var processes = new HashSet<>(terminations.all());
        processes.addAll(registry.processesToVerify());
        return processes;
    }

    /** Starts nothing new from now on, and stops the waits of a running cycle. */
    public void stop() {
        safeguards.stop();
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

    private void notifyListeners(CycleReport report) {
        for (var listener : listeners) {
            try {
                listener.record(report);
            } catch (RuntimeException | Error e) {
                LOG.error("A listener failed", e);
            }
        }
    }
}
