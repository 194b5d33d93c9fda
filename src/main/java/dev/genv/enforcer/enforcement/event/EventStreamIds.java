package dev.genv.enforcer.enforcement.event;

import dev.genv.enforcer.enforcement.saved.SavedKind;
import dev.genv.enforcer.enforcement.saved.SavedState;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Which run of the service gave which events their positions. Without a journal, each run begins with 1. With a journal the positions
 * continue, but a run may have shown events that the journal never got: the next run uses their positions again.
 */
final class EventStreamIds {
    /** Clients of earlier runs have connected again long before. */
    static final int MAX_EARLIER = 100;

    private static final SavedKind<Key, Positions> STREAMS = new SavedKind<>("stream", Key.class, Positions.class);

    private final UUID own = UUID.randomUUID();
    private final Map<UUID, Positions> earlier = new LinkedHashMap<>();
    private long begin;

    private record Key(UUID id) {}

    /**
     * The positions of a run, as far as the journal has its events.
     *
     * @param begin the last position before its first event
     * @param end the position of its last event
     */
    private record Positions(long begin, long end) {
        boolean contains(long sequence) {
            return begin <= sequence && sequence <= end;
        }
    }

    static List<SavedKind<?, ?>> savedKinds() {
        return List.of(STREAMS);
    }

    /** The id of this run. */
    UUID own() {
        return own;
    }

    /** Records that the next event of this run comes after this position. */
    void beginAfter(long sequence) {
        begin = sequence;
    }

    /** Whether a reader that got its last event from an earlier run knows everything until this position. */
    boolean isOfEarlierRun(UUID stream, long sequence) {
        var positions = earlier.get(stream);
        return positions != null && positions.contains(sequence);
    }

    /** Returns the runs, to be written together with the events until this position. */
    SavedState save(long end) {
        var saved = new LinkedHashMap<Key, Positions>();
        earlier.forEach((id, positions) -> saved.put(new Key(id), positions));
        saved.put(new Key(own), new Positions(begin, end));
        return SavedState.EMPTY.with(STREAMS, saved);
    }

    void restore(SavedState state) {
        state.get(STREAMS).entrySet().stream()
                .sorted(Comparator.comparingLong((Map.Entry<Key, Positions> run) -> run.getValue().end)
                        .reversed())
                .limit(MAX_EARLIER)
                .forEach(run -> earlier.put(run.getKey().id, run.getValue()));
    }

    /** The highest position of an earlier run; 0 if there is none. */
    long last() {
        return earlier.values().stream().mapToLong(Positions::end).max().orElse(0);
    }
}
