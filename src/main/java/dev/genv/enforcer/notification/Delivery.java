package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.event.EventLog;
import java.time.Duration;

/** One kind of delivery, with its own thread. It reads the events at its own speed, so a cycle never waits for it. */
public interface Delivery {
    /** The name in metrics and problems, such as {@code mail}. */
    String name();

    /** Decides with which event it begins, before the first cycle. */
    void begin(EventLog log);

    /**
     * Reads the new events, and delivers what is due. Each call of a receiver has a time limit.
     *
     * @return the time after which the next call is due if no event arrives before
     * @throws InterruptedException if the service stops
     */
    Duration run(EventLog log) throws InterruptedException;

    /** Its figures and its problem. */
    DeliveryStatistics statistics();
}
