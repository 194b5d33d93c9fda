package dev.genv.enforcer.enforcement.event;

import java.time.Instant;
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
    private long numbered;
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

    /** The position of the latest event that readers see; 0 if there is none. */
    public synchronized long latest() {
        return latest;
    }

    /** Appends events in this order. */
    public void append(Instant at, List<EventContent> contents) {
        publish(number(at, contents));
    }

    /** Gives events their positions. Readers see them after {@link #publish}, so that they can be written to the journal before. */
    public synchronized List<Event> number(Instant at, List<EventContent> contents) {
        return contents.stream()
                .map(content -> new Event(++numbered, at, content))
                .toList();
    }

    /** Gives later events higher positions than this one. */
    public synchronized void raise(long position) {
        numbered = Math.max(numbered, position);
    }

    /** Shows events to readers. */
    public void publish(List<Event> numberedEvents) {
        if (!numberedEvents.isEmpty()) {
            add(numberedEvents);
            listeners.inform();
        }
    }

    /**
     * Continues the numbers of earlier runs, and shows their latest events. It is called before the first event of this run.
     *
     * @param earlier the latest events of the earlier runs, oldest first
     * @param last the position of the last event of the earlier runs
     */
    public synchronized void continueFrom(List<Event> earlier, long last) {
        numbered = Math.max(numbered, last);
        latest = Math.max(latest, last);
        droppedUpTo = earlier.isEmpty() ? last : earlier.getFirst().sequence() - 1;
        add(earlier);
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

    private synchronized void add(List<Event> more) {
        for (var event : more) {
            latest = Math.max(latest, event.sequence());
            events.put(event.sequence(), event);
            bytes += EventSize.of(event);
        }
        while (events.size() > most || bytes > maxBytes) {
            var oldest = events.pollFirstEntry();
            droppedUpTo = oldest.getKey();
            bytes -= EventSize.of(oldest.getValue());
        }
    }
}
