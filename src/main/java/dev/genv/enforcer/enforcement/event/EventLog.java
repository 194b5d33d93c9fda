package dev.genv.enforcer.enforcement.event;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The latest events. Users influence their number and their texts, so both are bounded. The cycle appends and never waits for a
 * reader; every reader reads at its own speed.
 */
public final class EventLog {
    /** The largest number of events in memory. */
    public static final int MAX_EVENTS = 10_000;
    /** The largest estimated heap of the events in memory. */
    public static final long MAX_BYTES = 8L << 20;

    private final int most;
    private final long maxBytes;
    private final UUID streamId = UUID.randomUUID();
    private final TreeMap<Long, Event> events = new TreeMap<>();
    private final EventListeners listeners = new EventListeners();
    private long bytes;
    private long latest;
    private long droppedUpTo;

    public EventLog() {
        this(MAX_EVENTS, MAX_BYTES);
    }

    EventLog(int most, long maxBytes) {
        this.most = most;
        this.maxBytes = maxBytes;
    }

    /** A random id of this run of the service. Without a journal, each run numbers its events from 1. */
    public UUID streamId() {
        return streamId;
    }

    /** The position of the latest event; 0 if there is none. */
    public synchronized long latest() {
        return latest;
    }

    /** Appends events in this order, and returns them with their positions. */
    public List<Event> append(Instant at, List<EventContent> contents) {
        var appended = add(at, contents);
        if (!appended.isEmpty()) {
            listeners.inform();
        }
        return appended;
    }

    /**
     * Returns the events after a position, at most this number.
     *
     * @param sequence the position of the last event that the reader knows; 0 for none
     */
    public synchronized EventPage after(long sequence, int limit) {
        return new EventPage(
                events.tailMap(sequence, false).values().stream().limit(limit).toList(), sequence < droppedUpTo);
    }

    /**
     * Has a listener informed of new events until the result is closed. Several events in a short time give one call. A listener
     * must not block, because one thread informs all listeners; it is never the thread of a cycle.
     */
    public EventSubscription subscribe(Runnable listener) {
        return listeners.add(listener);
    }

    private synchronized List<Event> add(Instant at, List<EventContent> contents) {
        var appended = new ArrayList<Event>(contents.size());
        for (var content : contents) {
            var event = new Event(++latest, at, content);
            appended.add(event);
            events.put(event.sequence(), event);
            bytes += EventSize.of(event);
        }
        while (events.size() > most || bytes > maxBytes) {
            var oldest = events.pollFirstEntry();
            droppedUpTo = oldest.getKey();
            bytes -= EventSize.of(oldest.getValue());
        }
        return appended;
    }
}
