package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.report.Event.EventContent;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/**
 * The latest events. Users influence their number and their texts, so both are bounded, and each user has a {@link Share}. The cycle appends
 * and never waits for a reader; every reader reads at its own speed.
 */
public final class EventLog {
    private static final Logger LOG = Logger.getLogger(EventLog.class);
    /** The largest number of events in memory. */
    public static final int MAX_EVENTS = 10_000;
    /** The largest size of the events in memory: of their texts, in characters. The registry has a part of them too. */
    public static final long MAX_SIZE = 6L << 20;

    private final UUID own = UUID.randomUUID();
    private final TreeMap<Long, Event> events = new TreeMap<>();
    private final Share.Entries<Event> shares;
    private final Map<Object, Runnable> listeners = new ConcurrentHashMap<>();
    /** Whether listeners are to be informed. */
    private final AtomicBoolean isDue = new AtomicBoolean();

    private Supplier<UUID> store = () -> own;
    /** The position of the last event that is stored. */
    private long stored;

    private long numbered;
    private long latest;

    public EventLog() {
        this(MAX_EVENTS, MAX_SIZE);
    }

    EventLog(int most, long maxSize) {
        shares = new Share.Entries<>(
                most, maxSize, Event::share, event -> event.toString().length());
    }

    /**
     * Identifies the numbering to which a position belongs: that of the store, which continues over restarts, or that of this run alone
     * if the store may not have all events until this position.
     */
    public synchronized UUID stream(long sequence) {
        return sequence <= stored ? store.get() : own;
    }

    /**
     * Whether {@link #after} returns every event that a reader missed, or shows that some are missing.
     *
     * @param stream the numbering of the reader's last event
     * @param sequence the position of that event; 0 for none
     */
    public synchronized boolean isKnown(UUID stream, long sequence) {
        return sequence <= latest && (stream.equals(own) || stream.equals(store.get()));
    }

    /** The position of the latest event that readers see; 0 if there is none. */
    public synchronized long latest() {
        return latest;
    }

    /** Appends events in this order. */
    public void append(Instant at, List<EventContent> contents) {
        publish(number(at, contents));
    }

    /** Gives events their positions. Readers see them after {@link #publish}, so that they can be stored before. */
    public synchronized List<Event> number(Instant at, List<EventContent> contents) {
        return contents.stream()
                .map(content -> new Event(++numbered, at, content))
                .toList();
    }

    public void publish(List<Event> numberedEvents) {
        if (!numberedEvents.isEmpty()) {
            add(numberedEvents);
            inform();
        }
    }

    /**
     * Continues the positions of earlier runs, and shows their latest events, oldest first. It is called before the first event of this run.
     *
     * @param numbering identifies the numbering of the store
     * @param last the position of the last event that is stored; 0 if there is none
     */
    public synchronized void continueFrom(Supplier<UUID> numbering, List<Event> earlier, long last) {
        store = numbering;
        stored = last;
        numbered = last;
        latest = last;
        add(earlier);
    }

    /** Returns the events to be stored: those in memory that are not, and these, which readers do not see yet. */
    public synchronized List<Event> unstored(List<Event> numberedEvents) {
        return Stream.concat(events.tailMap(stored, false).values().stream(), numberedEvents.stream())
                .toList();
    }

    /** The position of the last event that is stored; 0 if there is none. */
    public synchronized long stored() {
        return stored;
    }

    /** Records that these unstored events are stored now, and returns how many before them were no longer in memory, and are lost. */
    public synchronized long confirm(List<Event> written) {
        if (written.isEmpty()) {
            return 0;
        }
        var missing = written.getLast().sequence() - stored - written.size();
        stored = written.getLast().sequence();
        return missing;
    }

    /**
     * Returns the events after a position, at most this number, and only up to the next one that is not in memory.
     *
     * @param sequence the position of the last event that the reader knows; 0 for none
     */
    public synchronized EventPage after(long sequence, int limit) {
        var page = new ArrayList<Event>();
        for (var event : events.tailMap(sequence, false).values()) {
            if (page.size() == limit
                    || (!page.isEmpty() && event.sequence() != page.getLast().sequence() + 1)) {
                break;
            }
            page.add(event);
        }
        var isNext = page.isEmpty() ? sequence >= latest : page.getFirst().sequence() == sequence + 1;
        return new EventPage(page, !isNext);
    }

    /**
     * Has a listener informed of new events until the result is closed. Several events in a short time give one call. A listener
     * must not block, because one thread informs all listeners; it is never the thread of a cycle.
     */
    public EventSubscription subscribe(Runnable listener) {
        var key = new Object();
        listeners.put(key, listener);
        return () -> listeners.remove(key);
    }

    /** Informs all listeners soon, on a thread of its own. A call during that time leads to another round. */
    private void inform() {
        if (!listeners.isEmpty() && isDue.compareAndSet(false, true)) {
            Thread.ofVirtual().name("event-listeners").start(this::callListeners);
        }
    }

    private void callListeners() {
        synchronized (listeners) {
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

    private synchronized void add(List<Event> more) {
        for (var event : more) {
            latest = Math.max(latest, event.sequence());
            events.put(event.sequence(), event);
            shares.add(event).forEach(removed -> events.remove(removed.sequence()));
        }
    }

    /** A listener of the event log, until it is closed. */
    public interface EventSubscription extends AutoCloseable {
        /** Ends the subscription; a call that has begun comes to its end. */
        @Override
        void close();
    }

    /**
     * The events after a position, oldest first.
     *
     * @param hasGap whether events between that position and the first of these are no longer in memory
     */
    public record EventPage(List<Event> events, boolean hasGap) {
        public EventPage {
            events = List.copyOf(events);
        }
    }
}
