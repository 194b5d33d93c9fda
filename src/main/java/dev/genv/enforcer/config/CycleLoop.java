package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import io.quarkus.runtime.ShutdownEvent;
import io.quarkus.scheduler.Scheduled.ConcurrentExecution;
import io.quarkus.scheduler.Scheduler;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;

/**
 * Schedules the cycles, and lets the last one end at shutdown. The scheduler compares times of day, so after the clock was set back it
 * would start none for as long: a thread starts a cycle that is overdue by the monotonic clock, and replaces the job.
 */
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

    CycleLoop(Enforcer enforcer, CycleSchedule cycleSchedule, Scheduler scheduler, RandomGenerator random) {
        this.enforcer = enforcer;
        this.cycleSchedule = cycleSchedule;
        this.scheduler = scheduler;
        this.random = random;
    }

    /** Runs one cycle on a separate thread, because a signal to the service interrupts the main thread. */
    void runOnce() throws InterruptedException {
        Thread.ofPlatform().name("cycle").start(enforcer::runCycle).join();
    }

    /** Starts the first cycle at once, and schedules the others. */
    void start() {
        Thread.ofVirtual().name("first-cycle").start(enforcer::runCycle);
        schedule();
        // Each sleep of a virtual thread wakes several threads.
        Thread.ofPlatform().daemon().name("cycle-watch").start(this::watch);
        LOG.infof("Observing every %d seconds", cycleSchedule.interval().toSeconds());
    }

    private void schedule() {
        var interval = cycleSchedule.interval().toString();
        scheduler
                .newJob(JOB)
                .setInterval(interval)
                .setDelayed(interval)
                .setConcurrentExecution(ConcurrentExecution.SKIP)
                .setTask(_ -> runDelayed(), true)
                .schedule();
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

    private void watch() {
        // Half an interval, so that the next cycle is late by no more.
        var pause = Math.clamp(cycleSchedule.interval().toMillis() / 2, SHORTEST_WATCH_MILLIS, LONGEST_WATCH_MILLIS);
        try {
            while (!stopped.await(pause, TimeUnit.MILLISECONDS)) {
                runIfOverdue();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Runs a cycle if the scheduler has not started one for too long. */
    void runIfOverdue() {
        if (!enforcer.isRunning() && cycleSchedule.isOverdue(enforcer.sinceLatest())) {
            LOG.warn("No cycle started in time, for example because the clock was set back: this one starts without the"
                    + " scheduler, and the next ones are scheduled again");
            try {
                scheduler.unscheduleJob(JOB);
                schedule();
            } catch (RuntimeException e) {
                LOG.error("The next cycles could not be scheduled; it is tried again", e);
            }
            enforcer.runCycle();
        }
    }

    /** Lets a running cycle end within the time limit, and starts no further one. */
    void stop(@Observes ShutdownEvent event) throws InterruptedException {
        stopped.countDown();
        awaitEnd(enforcer::isRunning, SHUTDOWN_TIMEOUT);
        if (enforcer.isRunning()) {
            LOG.warn("The running cycle does not end in time: it is abandoned and starts no further action");
        }
        enforcer.stop();
        awaitEnd(enforcer::isBusy, ABANDON_TIMEOUT);
    }

    private static void awaitEnd(BooleanSupplier goesOn, Duration timeLimit) throws InterruptedException {
        var deadline = System.nanoTime() + timeLimit.toNanos();
        while (goesOn.getAsBoolean() && System.nanoTime() < deadline) {
            Thread.sleep(PAUSE_MILLIS);
        }
    }
}
