package dev.genv.enforcer.recording.change;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * The difference between two maps.
 *
 * @param put the added and changed entries
 * @param removed the keys of the removed entries
 */
public record MapChange<K, V>(Map<K, V> put, Set<K> removed) {
    static <K, V> MapChange<K, V> between(Map<K, V> before, Map<K, V> after) {
        var put = new LinkedHashMap<>(after);
        put.entrySet().removeIf(entry -> entry.getValue().equals(before.get(entry.getKey())));
        var removed = new LinkedHashSet<>(before.keySet());
        removed.removeIf(after::containsKey);
        return new MapChange<>(put, removed);
    }

    boolean isEmpty() {
        return put.isEmpty() && removed.isEmpty();
    }

    Map<K, V> applyTo(Map<K, V> before) {
        if (isEmpty()) {
            return before;
        }
        var after = new HashMap<>(before);
        after.keySet().removeAll(removed);
        after.putAll(put);
        return after;
    }
}
