package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.event.EventSubscription;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jboss.logging.Logger;

/** The thread of a delivery, from its creation until it is closed. */
public final class DeliveryThread implements AutoCloseable {
    private static final Logger LOG = Logger.getLogger(DeliveryThread.class);
    private static final Duration PAUSE_AFTER_ERROR = Duration.ofMinutes(1);

    private final Delivery delivery;
    private final EventLog log;
    private final Semaphore news = new Semaphore(0);
    private final EventSubscription subscription;
    private final Thread thread;

    private DeliveryThread(Delivery delivery, EventLog log) {
        this.delivery = delivery;
        this.log = log;
        subscription = log.subscribe(news::release);
        thread = Thread.ofPlatform()
                .name("delivery-" + delivery.name())
                .daemon() // a receiver that does not answer must not prevent the exit of the service
                .unstarted(this::loop);
    }

    /** Starts a delivery. The events of earlier runs are restored before, and the first cycle comes later. */
    public static DeliveryThread start(Delivery delivery, EventLog log) {
        delivery.begin(log);
        var started = new DeliveryThread(delivery, log);
        started.thread.start();
        return started;
    }

    private void loop() {
        try {
            while (true) {
                var pause = runOnce();
                news.tryAcquire(pause.toNanos(), TimeUnit.NANOSECONDS);
                news.drainPermits();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Duration runOnce() throws InterruptedException {
        try {
            return delivery.run(log);
        } catch (RuntimeException | Error e) { // errors too, for example a lack of memory: the next run may succeed
            LOG.errorf(e, "The delivery %s failed; it continues in a minute", delivery.name());
            news.drainPermits();
            Thread.sleep(PAUSE_AFTER_ERROR);
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
