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
        var put = new LinkedHashMap<K, V>();
        after.forEach((key, value) -> {
            if (!value.equals(before.get(key))) {
                put.put(key, value);
            }
        });
        var removed = new LinkedHashSet<K>();
        before.keySet().stream().filter(key -> !after.containsKey(key)).forEach(removed::add);
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
