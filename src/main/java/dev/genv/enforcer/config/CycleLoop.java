package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.host.Ticker.ClockWatch;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.scheduler.Scheduled.ConcurrentExecution;
import io.quarkus.scheduler.Scheduler;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;

/** Schedules the cycles, and lets the last one end at shutdown. */
@ApplicationScoped
public class CycleLoop {
    private static final Logger LOG = Logger.getLogger(CycleLoop.class);
    private static final String JOB = "enforcement-cycle";
    /** With the next one, less than the ten seconds that container engines wait after SIGTERM. */
    private static final Duration SHUTDOWN_TIMEOUT = Duration.ofMillis(7500);

    /** The time for an abandoned cycle and its hosts to terminate their child processes, which would outlive the service. */
    private static final Duration ABANDON_TIMEOUT = Duration.ofMillis(1500);

    private static final long PAUSE_MILLIS = 20;
    private static final long SHORTEST_WATCH_MILLIS = 1000;
    private static final long LONGEST_WATCH_MILLIS = 10_000;

    private final Enforcer enforcer;
    private final CycleSchedule cycleSchedule;
    private final Scheduler scheduler;
    private final RandomGenerator random;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final ClockWatch clock;
    private volatile boolean stopping;

    CycleLoop(
            Enforcer enforcer,
            CycleSchedule cycleSchedule,
            Scheduler scheduler,
            RandomGenerator random,
            Ticker ticker) {
        this.enforcer = enforcer;
        this.cycleSchedule = cycleSchedule;
        this.scheduler = scheduler;
        this.random = random;
        clock = new ClockWatch(ticker);
    }

    /** Runs one cycle on a separate thread, because a signal to the service interrupts the main thread. */
    CycleReport runOnce() throws InterruptedException {
        var cycle = new FutureTask<>(() -> enforcer.runCycle().orElseThrow());
        Thread.ofPlatform().name("cycle").start(cycle);
        try {
            return cycle.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a cycle throws no exception", e);
        }
    }

    /** Starts the first cycle at once, and schedules the others. */
    void start() {
        Thread.ofVirtual().name("first-cycle").start(enforcer::runCycle);
        schedule(cycleSchedule.interval());
        // Each sleep of a virtual thread wakes several threads.
        Thread.ofPlatform().daemon().name("cycle-watch").start(this::watch);
        LOG.infof("Observing every %d seconds", cycleSchedule.interval().toSeconds());
    }

    /** Runs a cycle after a random delay, unless the service stops before. */
    void runDelayed() {
        try {
            if (!stopped.await(cycleSchedule.delay(random.nextDouble()).toNanos(), TimeUnit.NANOSECONDS)) {
                enforcer.runCycle();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void schedule(Duration delay) {
        scheduler
                .newJob(JOB)
                .setInterval(cycleSchedule.interval().toString())
                .setDelayed(delay.toString())
                .setConcurrentExecution(ConcurrentExecution.SKIP)
                .setTask(execution -> runDelayed(), true)
                .schedule();
    }

    /** The scheduler compares wall clock times. A job keeps the times from before the clock was set, so a new job replaces it. */
    private synchronized void reschedule(Duration delay) {
        if (!stopping && scheduler.unscheduleJob(JOB) != null) {
            schedule(delay);
        }
    }

    private void watch() {
        // Half an interval, so that a clock that was set delays a cycle by no more.
        var half = cycleSchedule.interval().toMillis() / 2;
        try {
            while (!stopping) {
                Thread.sleep(Math.clamp(half, SHORTEST_WATCH_MILLIS, LONGEST_WATCH_MILLIS));
                watchOnce();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void watchOnce() {
        try {
            rescheduleIfClockWasSet();
            runIfOverdue();
        } catch (RuntimeException e) {
            LOG.error("Watching the cycles failed; it is tried again", e);
        }
    }

    /** Schedules the next cycle one interval after the last one, independent of the wall clock. */
    void rescheduleIfClockWasSet() {
        clock.change().ifPresent(change -> {
            LOG.warnf("The clock was set by %s seconds: cycles continue at their interval", change.toSeconds());
            reschedule(cycleSchedule.untilNext(enforcer.sinceLatest()));
        });
    }

    /** Runs a cycle if the scheduler has not started one for too long. */
    void runIfOverdue() {
        if (!stopping && !enforcer.isRunning() && cycleSchedule.isOverdue(enforcer.sinceLatest())) {
            LOG.warn("No cycle started in time: this one starts without the scheduler, and the next ones are scheduled"
                    + " again");
            reschedule(cycleSchedule.interval());
            enforcer.runCycle();
        }
    }

    /** Lets a running cycle end within the time limit, and starts no further one. */
    void stop(@Observes ShutdownEvent event) throws InterruptedException {
        unschedule();
        awaitEnd(enforcer::isRunning, SHUTDOWN_TIMEOUT);
        if (enforcer.isRunning()) {
            LOG.warn("The running cycle does not end in time: it is abandoned and starts no further action");
        }
        enforcer.stop();
        awaitEnd(enforcer::isBusy, ABANDON_TIMEOUT);
    }

    private synchronized void unschedule() {
        stopping = true;
        stopped.countDown();
        scheduler.unscheduleJob(JOB);
    }

    private static void awaitEnd(BooleanSupplier goesOn, Duration timeLimit) throws InterruptedException {
        var deadline = System.nanoTime() + timeLimit.toNanos();
        while (goesOn.getAsBoolean() && System.nanoTime() < deadline) {
            Thread.sleep(PAUSE_MILLIS);
        }
    }
}
