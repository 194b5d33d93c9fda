package dev.genv.enforcer.enforcement;

import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * For how long people could see each thing. Only that time counts, and all of it: a thing that comes and goes does not begin
 * anew, and time in which the service did not find it does not count.
 */
final class VisibleTime<K> {
    private final Ticker ticker;
    private final Map<K, Seen> seen = new HashMap<>();

    /**
     * What is known of one.
     *
     * @param at when a cycle last found it, or found it gone
     * @param goesOn whether the last cycle found it
     */
    private record Seen(Duration length, long at, boolean goesOn) {}

    VisibleTime(Ticker ticker) {
        this.ticker = ticker;
    }

    /** Takes in what this cycle finds. Until now people could see what the one before found, also where it is over now. */
    void record(Set<K> found) {
        var now = ticker.mark();
        seen.replaceAll((key, known) -> known.goesOn || found.contains(key)
                ? new Seen(
                        known.goesOn ? known.length.plus(ticker.since(known.at)) : known.length,
                        now,
                        found.contains(key))
                : known);
        found.forEach(key -> seen.putIfAbsent(key, new Seen(Duration.ZERO, now, true)));
    }

    boolean isRemembered(K key) {
        return seen.containsKey(key);
    }

    /** Zero for one that was never found. */
    Duration of(@Nullable K key) {
        var known = seen.get(key);
        return known == null ? Duration.ZERO : known.length;
    }

    /** Forgets what was not found for so long, and where there are more than that, what was not found for the longest time. */
    void forget(Duration unseenFor, int most) {
        forget(unseenFor, most, Set.of());
    }

    /** The same, but for these, of which it may not be known whether they are over. */
    void forget(Duration unseenFor, int most, Set<K> kept) {
        seen.entrySet()
                .removeIf(entry -> !kept.contains(entry.getKey())
                        && ticker.since(entry.getValue().at).compareTo(unseenFor) > 0);
        if (seen.size() > most) {
            seen.entrySet().stream()
                    .filter(entry -> !entry.getValue().goesOn && !kept.contains(entry.getKey()))
                    .sorted(Comparator.comparingLong(entry -> entry.getValue().at))
                    .limit(seen.size() - most)
                    .map(Map.Entry::getKey)
                    .toList()
                    .forEach(seen::remove);
        }
    }
}
