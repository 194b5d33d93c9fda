package dev.genv.enforcer.enforcement.report;

import dev.genv.enforcer.enforcement.report.SavedState.SavedKind;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How far each kind of delivery came, in memory. Each cycle stores it at its end, so a delivery never waits for the disk. After a
 * crash, a receiver gets the events since the last cycle again.
 */
public final class DeliveryCursors {
    public static final SavedKind<Kind, Position> POSITIONS =
            new SavedKind<>("delivery", Kind.class, Position.class, _ -> "");

    private final Map<Kind, Position> positions = new ConcurrentHashMap<>();

    record Kind(String name) {}

    record Position(long sequence) {}

    /** Returns the position of the last event that a kind of delivery, such as {@code webhook}, has delivered; empty if none is known. */
    public OptionalLong load(String kind) {
        var position = positions.get(new Kind(kind));
        return position == null ? OptionalLong.empty() : OptionalLong.of(position.sequence());
    }

    /** Remembers the position of the last delivered event. It may be lost in a crash: then the event is delivered again. */
    public void store(String kind, long sequence) {
        positions.put(new Kind(kind), new Position(sequence));
    }

    /** Returns all positions, to continue from them in another run of the service. */
    public SavedState save() {
        return SavedState.EMPTY.with(POSITIONS, Map.copyOf(positions));
    }

    public void restore(SavedState state) {
        positions.putAll(state.get(POSITIONS));
    }
}
