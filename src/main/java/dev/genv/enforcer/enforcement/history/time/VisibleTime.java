package dev.genv.enforcer.enforcement.history.time;

import dev.genv.enforcer.enforcement.clock.Ticker;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How long each thing was reported. The times of several appearances are added up; time during which the service did not find
 * the thing does not count.
 */
public final class VisibleTime<K> {
    private final Ticker ticker;
    private final Map<K, Visibility> visibilities = new HashMap<>();

    /**
     * What is known of one thing.
     *
     * @param at when a cycle last found it, or first missed it
     * @param isPresent whether the last cycle found it
     */
    public record Visibility(Duration length, long at, boolean isPresent) {
        /** Moves the length of a present thing into the moment, so that the value stays the same while the thing is present. */
        Visibility toSave() {
            return isPresent ? new Visibility(Duration.ZERO, at - length.toNanos(), true) : this;
        }

        /** Returns the saved value of a thing whose reported time begins at this mark. */
        public Visibility begunAt(long mark) {
            return new Visibility(Duration.ZERO, isPresent ? mark : at, isPresent);
        }
    }

    public VisibleTime(Ticker ticker) {
        this.ticker = ticker;
    }

    /** Records what this cycle finds. What the previous cycle found was reported until now, even if it is over now. */
    public void record(Set<K> found) {
        var now = ticker.mark();
        visibilities.replaceAll((key, known) -> known.isPresent || found.contains(key)
                ? new Visibility(
                        known.isPresent ? known.length.plusNanos(now - known.at) : known.length,
                        now,
                        found.contains(key))
                : known);
        found.forEach(key -> visibilities.putIfAbsent(key, new Visibility(Duration.ZERO, now, true)));
    }

    /** Returns what is known, in a form that changes only if a thing appears or disappears. */
    public Map<K, Visibility> save() {
        var saved = new HashMap<K, Visibility>();
        visibilities.forEach((key, known) -> saved.put(key, known.toSave()));
        return saved;
    }

    /** Restores what was saved when the ticker had the same mark. */
    public void restore(Map<K, Visibility> saved) {
        visibilities.putAll(saved);
    }

    public boolean isRemembered(K key) {
        return visibilities.containsKey(key);
    }

    /** Returns the reported time; zero if the thing was never found. */
    public Duration durationOf(@Nullable K key) {
        var known = visibilities.get(key);
        return known == null ? Duration.ZERO : known.length;
    }

    /** Forgets what was not found for this time and, above this number, what was not found for the longest time. */
    public void forget(Duration unseenFor, int most) {
        forget(unseenFor, most, Set.of());
    }

    /** The same, except these: it may be unknown whether they are over. */
    public void forget(Duration unseenFor, int most, Set<K> kept) {
        visibilities
                .entrySet()
                .removeIf(entry -> !kept.contains(entry.getKey())
                        && ticker.since(entry.getValue().at).compareTo(unseenFor) > 0);
        if (visibilities.size() > most) {
            visibilities.entrySet().stream()
                    .filter(entry -> !entry.getValue().isPresent && !kept.contains(entry.getKey()))
                    .sorted(Comparator.comparingLong(entry -> entry.getValue().at))
                    .limit(visibilities.size() - most)
                    .map(Map.Entry::getKey)
                    .toList()
                    .forEach(visibilities::remove);
        }
    }
}
