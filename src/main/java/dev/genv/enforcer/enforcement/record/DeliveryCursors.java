package dev.genv.enforcer.enforcement.record;

import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How far each delivery came, in memory. Each cycle stores it at its end, so a delivery never waits for the disk. After a
 * crash, a receiver gets the events since the last cycle again.
 */
public final class DeliveryCursors {
    public static final SavedKind<Kind, Position> POSITIONS =
            new SavedKind<>("delivery", Kind.class, Position.class, _ -> "");

    private final Map<String, Long> positions = new ConcurrentHashMap<>();

    record Kind(String name) {}

    record Position(long sequence) {}

    /** Returns the cursor of a kind of delivery, such as {@code webhook}. */
    public DeliveryCursor of(String kind) {
        return new DeliveryCursor(kind);
    }

    /** Remembers the last event that a receiver got. The store keeps it over a restart. */
    public final class DeliveryCursor {
        private final String kind;

        private DeliveryCursor(String kind) {
            this.kind = kind;
        }

        /** Returns the position of the last delivered event; empty if none is known. */
        public OptionalLong load() {
            var position = positions.get(kind);
            return position == null ? OptionalLong.empty() : OptionalLong.of(position);
        }

        /** Records the position of the last delivered event. It may be lost in a crash: then the event is delivered again. */
        public void store(long sequence) {
            positions.put(kind, sequence);
        }
    }

    /** Returns all positions, to continue from them in another run of the service. */
    public SavedState save() {
        var saved = new LinkedHashMap<Kind, Position>();
        positions.forEach((kind, sequence) -> saved.put(new Kind(kind), new Position(sequence)));
        return SavedState.EMPTY.with(POSITIONS, saved);
    }

    public void restore(SavedState state) {
        state.get(POSITIONS).forEach((kind, position) -> positions.put(kind.name(), position.sequence()));
    }
}
