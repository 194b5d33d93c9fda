package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.EventLog.EventSubscription;
import dev.genv.enforcer.notification.Delivery.DeliveryStatistics;
import dev.genv.enforcer.notification.Delivery.RetryDelay;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jboss.logging.Logger;

/** The thread of a delivery, from its creation until it is closed. */
public final class DeliveryThread implements AutoCloseable {
    private static final Logger LOG = Logger.getLogger(DeliveryThread.class);

    private final Delivery delivery;
    private final EventLog log;
    private final RetryDelay retryDelay;
    private final Semaphore wakeups = new Semaphore(0);
    private final EventSubscription subscription;
    private final Thread thread;
    /** The runs that failed one after the other. */
    private int failures;

    private DeliveryThread(Delivery delivery, EventLog log, RetryDelay retryDelay) {
        this.delivery = delivery;
        this.log = log;
        this.retryDelay = retryDelay;
        subscription = log.subscribe(wakeups::release);
        thread = Thread.ofPlatform()
                .name("delivery-" + delivery.name())
                .daemon() // a receiver that does not answer must not prevent the exit of the service
                .unstarted(this::loop);
    }

    /**
     * Starts a delivery, with a pause after a run that failed by a defect of the service. The events of earlier runs are restored
     * before, and the first cycle comes later.
     */
    public static DeliveryThread start(Delivery delivery, EventLog log, RetryDelay retryDelay) {
        delivery.begin(log);
        var started = new DeliveryThread(delivery, log, retryDelay);
        started.thread.start();
        return started;
    }

    private void loop() {
        try {
            while (true) {
                var pause = runOnce();
                wakeups.tryAcquire(pause.toNanos(), TimeUnit.NANOSECONDS);
                wakeups.drainPermits();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Duration runOnce() throws InterruptedException {
        try {
            var pause = delivery.run(log);
            failures = 0;
            return pause;
        } catch (RuntimeException | Error e) { // errors too, for example a lack of memory: the next run may succeed
            failures++;
            var pause = retryDelay.after(failures);
            LOG.errorf(e, "The delivery %s failed; it continues in %d s", delivery.name(), pause.toSeconds());
            delivery.statistics().countFailed(DeliveryStatistics.reason(e));
            Thread.sleep(pause); // new events do not shorten it
            return Duration.ZERO;
        }
    }

    /** Stops the delivery; a call of a receiver is abandoned. */
    @Override
    public void close() {
        subscription.close();
        thread.interrupt();
    }
}
