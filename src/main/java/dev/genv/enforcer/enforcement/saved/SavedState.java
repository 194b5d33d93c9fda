package dev.genv.enforcer.enforcement.saved;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** The saved entries of all kinds. */
public final class SavedState {
    /** Nothing is saved. */
    public static final SavedState EMPTY = new SavedState(Map.of());

    private final Map<SavedKind<?, ?>, Map<? extends Record, ? extends Record>> entries;

    private SavedState(Map<SavedKind<?, ?>, Map<? extends Record, ? extends Record>> entries) {
        this.entries = entries;
    }

    /** Returns the state with the entries of one kind. */
    public <K extends Record, V extends Record> SavedState with(SavedKind<K, V> kind, Map<K, V> ofKind) {
        var all = new LinkedHashMap<>(entries);
        all.put(kind, Collections.unmodifiableMap(ofKind));
        return new SavedState(all);
    }

    /** Returns the state with all entries of another one. */
    public SavedState with(SavedState other) {
        var all = new LinkedHashMap<>(entries);
        all.putAll(other.entries);
        return new SavedState(all);
    }

    /** Returns the entries of one kind. */
    public <K extends Record, V extends Record> Map<K, V> get(SavedKind<K, V> kind) {
        var typed = new LinkedHashMap<K, V>();
        entries.getOrDefault(kind, Map.of())
                .forEach((key, value) ->
                        typed.put(kind.keyType().cast(key), kind.valueType().cast(value)));
        return typed;
    }

    /** Returns the entries of all kinds. */
    public Map<SavedKind<?, ?>, Map<? extends Record, ? extends Record>> all() {
        return Collections.unmodifiableMap(entries);
    }
}
