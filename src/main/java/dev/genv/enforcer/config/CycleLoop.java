package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.ClockWatch;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.Pace;
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
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;

/** Makes the cycles come, and lets the last one end. */
@ApplicationScoped
public class CycleLoop {
    private static final Logger LOG = Logger.getLogger(CycleLoop.class);
    private static final String JOB = "enforcement-cycle";
    /** Within the ten seconds that whoever stops us grants. */
    private static final Duration PATIENCE = Duration.ofMillis(8500);

    /** For what is given up to end its child. */
    private static final Duration LAST_MOMENT = Duration.ofMillis(500);

    private static final long PAUSE_MILLIS = 20;
    private static final Duration WATCH_PERIOD = Duration.ofSeconds(1);

    private final Enforcer enforcer;
    private final Pace pace;
    private final Scheduler scheduler;
    private final RandomGenerator random;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final ClockWatch clock;
    private volatile boolean stopping;

    CycleLoop(Enforcer enforcer, Pace pace, Scheduler scheduler, RandomGenerator random) {
        this.enforcer = enforcer;
        this.pace = pace;
        this.scheduler = scheduler;
        this.random = random;
        clock = new ClockWatch(enforcer.ticker());
    }

    /** Runs one cycle, on a thread of its own: a signal that stops us would cut the main one. */
    CycleReport once() throws InterruptedException {
        var cycle = new FutureTask<>(() -> enforcer.runCycle().orElseThrow());
        Thread.ofPlatform().name("cycle").start(cycle);
        try {
            return cycle.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a cycle never throws", e);
        }
    }

    /** Starts the first cycle at once and the others after it. */
    void start() {
        Thread.ofVirtual().name("first-cycle").start(enforcer::runCycle);
        schedule(pace.interval());
        Thread.ofVirtual().name("cycle-watch").start(this::watch);
        LOG.infof("Looking every %d seconds", pace.interval().toSeconds());
    }

    /** Runs a cycle a random time later, unless we stop before. */
    void runDelayed() {
        try {
            if (!stopped.await(pace.delay(random.nextDouble()).toNanos(), TimeUnit.NANOSECONDS)) {
                enforcer.runCycle();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void schedule(Duration delay) {
        scheduler
                .newJob(JOB)
                .setInterval(pace.interval().toString())
                .setDelayed(delay.toString())
                .setConcurrentExecution(ConcurrentExecution.SKIP)
                .setTask(execution -> runDelayed(), true)
                .schedule();
    }

    /** The scheduler compares times of day. A job of it keeps those from before the clock was set; a new one does not. */
    private synchronized void scheduleAnew(Duration delay) {
        if (!stopping && scheduler.unscheduleJob(JOB) != null) {
            schedule(delay);
        }
    }

    private void watch() {
        try {
            while (!stopping) {
                Thread.sleep(WATCH_PERIOD);
                watchOnce();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void watchOnce() {
        try {
            scheduleAnewIfClockWasSet();
            runIfOverdue();
        } catch (RuntimeException e) {
            LOG.error("Watching the cycles failed; it is tried again in a second", e);
        }
    }

    /** The next cycle comes an interval after the last one, whatever time of day it is then. */
    void scheduleAnewIfClockWasSet() {
        clock.change().ifPresent(change -> {
            LOG.warnf("The clock was set by %s seconds: cycles go on at their interval", change.toSeconds());
            scheduleAnew(pace.untilNext(enforcer.sinceLatest()));
        });
    }

    /** Runs a cycle where none has ended for so long that nobody seems to begin one. */
    void runIfOverdue() {
        if (!stopping && !enforcer.isRunning() && pace.isOverdue(enforcer.sinceLatest())) {
            LOG.warn(
                    "No cycle was begun in time: this one is begun without the scheduler, and the next ones are scheduled anew");
            scheduleAnew(pace.interval());
            enforcer.runCycle();
        }
    }

    /** A cycle under way comes to its end if it can; what has not begun by then never begins. */
    void stop(@Observes ShutdownEvent event) throws InterruptedException {
        unschedule();
        awaitEnd(PATIENCE);
        if (enforcer.isRunning()) {
            LOG.warn("The cycle under way does not come to its end: it is given up and begins nothing any more");
        }
        enforcer.stop();
        awaitEnd(LAST_MOMENT);
    }

    private synchronized void unschedule() {
        stopping = true;
        stopped.countDown();
        scheduler.unscheduleJob(JOB);
    }

    private void awaitEnd(Duration patience) throws InterruptedException {
        var deadline = System.nanoTime() + patience.toNanos();
        while (enforcer.isRunning() && System.nanoTime() < deadline) {
            Thread.sleep(PAUSE_MILLIS);
        }
    }
}
