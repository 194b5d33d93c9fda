package dev.genv.enforcer.enforcement.event;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jboss.logging.Logger;

/** Informs listeners of new events on a virtual thread of its own, so that no listener runs on the thread of a cycle. */
final class EventListeners {
    private static final Logger LOG = Logger.getLogger(EventListeners.class);

    private final Map<Object, Runnable> listeners = new ConcurrentHashMap<>();
    private final AtomicBoolean isDue = new AtomicBoolean();

    EventSubscription add(Runnable listener) {
        var key = new Object();
        listeners.put(key, listener);
        return () -> listeners.remove(key);
    }

    /** Informs all listeners soon. A call during that time leads to another round. */
    void inform() {
        if (!listeners.isEmpty() && isDue.compareAndSet(false, true)) {
            Thread.ofVirtual().name("event-listeners").start(this::callAll);
        }
    }

    private synchronized void callAll() {
        isDue.set(false); // before the calls, so that an event after them is not missed
        for (var listener : listeners.values()) {
            try {
                listener.run();
            } catch (RuntimeException | Error e) {
                LOG.error("A listener of the events failed", e);
            }
        }
    }
}
