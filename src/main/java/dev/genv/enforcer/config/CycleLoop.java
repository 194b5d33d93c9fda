package dev.genv.enforcer.config;

import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import io.quarkus.runtime.ShutdownEvent;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;

/**
 * Runs the cycles on a thread of their own, because a signal to the service interrupts the main thread, and lets the last one end at
 * shutdown. It measures time by the monotonic clock, so a clock that is set back delays no cycle.
 */
@ApplicationScoped
public class CycleLoop {
    private static final Logger LOG = Logger.getLogger(CycleLoop.class);
    /** With the next one, less than the ten seconds that container engines wait after SIGTERM. */
    private static final Duration SHUTDOWN_TIMEOUT = Duration.ofMillis(7500);

    /** The time for an abandoned cycle and its hosts to terminate their child processes, which would outlive the service. */
    private static final Duration ABANDON_TIMEOUT = Duration.ofMillis(1500);

    private static final long PAUSE_MILLIS = 20;

    private final Enforcer enforcer;
    private final CycleSchedule cycleSchedule;
    private final RandomGenerator random;
    private final CountDownLatch stopped = new CountDownLatch(1);

    CycleLoop(Enforcer enforcer, CycleSchedule cycleSchedule, RandomGenerator random) {
        this.enforcer = enforcer;
        this.cycleSchedule = cycleSchedule;
        this.random = random;
    }

    void runOnce() throws InterruptedException {
        startThread(enforcer::runCycle).join();
    }

    /** Starts the first cycle at once, and the others when they are due. Returns the thread that runs them. */
    Thread start() {
        LOG.infof("Observing every %d seconds", cycleSchedule.interval().toSeconds());
        return startThread(this::run);
    }

    private static Thread startThread(Runnable cycles) {
        return Thread.ofPlatform().name("cycle").start(cycles);
    }

    private void run() {
        var first = System.nanoTime();
        try {
            do {
                enforcer.runCycle();
            } while (!stopped.await(
                    cycleSchedule
                            .untilNext(Duration.ofNanos(System.nanoTime() - first), random.nextDouble())
                            .toNanos(),
                    TimeUnit.NANOSECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
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
