package dev.genv.enforcer.enforcement.event;

import dev.genv.enforcer.enforcement.saved.SavedKind;
import dev.genv.enforcer.enforcement.saved.SavedState;
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
    private final EventStreamIds streams = new EventStreamIds();
    private final TreeMap<Long, Event> events = new TreeMap<>();
    private final EventListeners listeners = new EventListeners();
    private long bytes;
    private long numbered;
    private long latest;

    public EventLog() {
        this(MAX_EVENTS, MAX_BYTES);
    }

    EventLog(int most, long maxBytes) {
        this.most = most;
        this.maxBytes = maxBytes;
    }

    /** The kinds of entries that are saved. */
    public static List<SavedKind<?, ?>> savedKinds() {
        return EventStreamIds.savedKinds();
    }

    /** A random id of this run of the service, which distinguishes its positions from those of other runs. */
    public UUID streamId() {
        return streams.own();
    }

    /**
     * Whether {@link #after} returns every event that a reader missed.
     *
     * @param stream the run that showed the reader its last event
     * @param sequence the position of that event; 0 for none
     */
    public synchronized boolean isKnown(UUID stream, long sequence) {
        return stream.equals(streams.own()) ? sequence <= latest : streams.isOfEarlierRun(stream, sequence);
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

    /** Returns the runs that showed events, for later runs. It is written together with all events that have a position. */
    public synchronized SavedState save() {
        return streams.save(numbered);
    }

    /** Shows events to readers. */
    public void publish(List<Event> numberedEvents) {
        if (!numberedEvents.isEmpty()) {
            add(numberedEvents);
            listeners.inform();
        }
    }

    /**
     * Continues the positions of earlier runs, and shows their latest events. It is called before the first event of this run.
     *
     * @param earlier the latest events of the earlier runs, oldest first
     * @param last the position of the last event of the earlier runs
     */
    public synchronized void continueFrom(List<Event> earlier, long last) {
        var position = Math.max(last, streams.last());
        if (position > numbered) {
            numbered = position;
            streams.beginAfter(position);
        }
        latest = Math.max(latest, numbered);
        add(earlier);
    }

    /** Restores what an earlier run saved. It is called before {@link #continueFrom}. */
    public synchronized void restore(SavedState state) {
        streams.restore(state);
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

    /** Returns all events in memory after a position. */
    public synchronized List<Event> since(long sequence) {
        return List.copyOf(events.tailMap(sequence, false).values());
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
            bytes -= EventSize.of(events.pollFirstEntry().getValue());
        }
    }
}
