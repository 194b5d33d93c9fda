package dev.genv.enforcer.enforcement.report;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/** The saved entries of all kinds. */
public record SavedState(Map<SavedKind<?, ?>, Map<? extends Record, ? extends Record>> all) {
    public static final SavedState EMPTY = new SavedState(Map.of());

    public <K extends Record, V extends Record> SavedState with(SavedKind<K, V> kind, Map<K, V> ofKind) {
        return with(new SavedState(Map.of(kind, Collections.unmodifiableMap(ofKind))));
    }

    public SavedState with(SavedState other) {
        var both = new LinkedHashMap<>(all);
        both.putAll(other.all);
        return new SavedState(Collections.unmodifiableMap(both));
    }

    public <K extends Record, V extends Record> Map<K, V> get(SavedKind<K, V> kind) {
        var typed = new LinkedHashMap<K, V>();
        all.getOrDefault(kind, Map.of())
                .forEach((key, value) ->
                        typed.put(kind.keyType().cast(key), kind.valueType().cast(value)));
        return typed;
    }

    /**
     * A kind of entries that are saved. Keys and values are records without references to mutable objects. A value changes only
     * with what it describes: it contains no time that grows from cycle to cycle, so that only real changes are written.
     *
     * @param name stays the same in all versions
     * @param host the host of a key; empty if it belongs to none
     */
    public record SavedKind<K extends Record, V extends Record>(
            String name, Class<K> keyType, Class<V> valueType, Function<K, String> host) {
        /** Returns the host of one of its keys. */
        public String hostOf(Record key) {
            return host.apply(Objects.requireNonNull(keyType.cast(key)));
        }
    }

    /**
     * What changes with every cycle.
     *
     * @param counted the clock that counts towards an action, at the end of the cycle, in nanoseconds
     * @param observed the same clock when the cycle recorded its observation
     * @param ticks when the environments of each host were last read, in clock ticks since its boot
     * @param cycles the number of cycles that the registry recorded
     * @param appearances the number of violations that ever appeared
     * @param at the wall clock at the observation
     * @param latest the latest time at which any violation was observed
     * @param lastEvent the position of the last event that is stored
     */
    public record SavedCycle(
            long counted,
            long observed,
            Map<String, Long> ticks,
            int cycles,
            long appearances,
            Instant at,
            Instant latest,
            long lastEvent) {}
}
