package dev.genv.enforcer.enforcement;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * For how long each violation was observed. A clock runs from an observation in which its violation is in force to the next observation,
 * whatever that one finds; its spans add up. Users choose how many violations there are, so stopped clocks are forgotten after a while,
 * and their number is bounded.
 *
 * @param <K> what a clock measures
 */
final class Clocks<K extends Record> {
    /** The largest number of stopped clocks. */
    static final int MAX_STOPPED = 10_000;

    private final long kept;
    private final Map<K, Clock> clocks = new HashMap<>();

    /**
     * The key of a violation's clock: a subject broke a rule on a host, or the processes of a user did.
     *
     * @param subject bounded in its length
     */
    record Key(String host, String rule, String subject) {}

    /**
     * A clock. It stays the same as long as it runs.
     *
     * @param sum its finished spans, in nanoseconds
     * @param since when it began to run, or when it was stopped, by the mark of the clock that counts towards an action
     * @param uid the real uid of the processes, in whose share it counts; null if there is none
     */
    record Clock(
            long sum, long since, boolean runs, @Nullable Long uid) {
        private long elapsed(long now) {
            return runs ? sum + now - since : sum;
        }

        private Clock started(long now) {
            return runs ? this : new Clock(sum, now, true, uid);
        }

        private Clock stopped(long now) {
            return runs ? new Clock(elapsed(now), now, false, uid) : this;
        }
    }

    Clocks(Duration kept) {
        this.kept = kept.toNanos();
    }

    /** Starts the clocks of the violations that are in force from now on, each with its uid, and stops the others. */
    void run(Map<K, @Nullable Long> inForce, long now) {
        clocks.replaceAll((key, clock) -> inForce.containsKey(key) ? clock.started(now) : clock.stopped(now));
        inForce.forEach((key, uid) -> clocks.putIfAbsent(key, new Clock(0, now, true, uid)));
        clocks.values().removeIf(clock -> !clock.runs && now - clock.since > kept);
        limit();
    }

    /** Returns what a clock has measured until now. */
    Duration elapsed(K key, long now) {
        var clock = clocks.get(key);
        return clock == null ? Duration.ZERO : Duration.ofNanos(clock.elapsed(now));
    }

    void forget(Predicate<K> which) {
        clocks.keySet().removeIf(which);
    }

    Map<K, Clock> all() {
        return Map.copyOf(clocks);
    }

    void restore(Map<K, Clock> saved) {
        clocks.putAll(saved);
    }

    /** The user with the most stopped clocks loses the one first that stopped first, so that no user displaces the clocks of another. */
    private void limit() {
        var stopped = clocks.entrySet().stream()
                .filter(entry -> !entry.getValue().runs)
                .sorted(Comparator.comparingLong(entry -> entry.getValue().since))
                .toList();
        var surplus = stopped.size() - MAX_STOPPED;
        if (surplus <= 0) {
            return;
        }
        var byUid = new HashMap<@Nullable Long, Deque<K>>();
        stopped.forEach(entry -> byUid.computeIfAbsent(entry.getValue().uid, _ -> new ArrayDeque<>())
                .add(entry.getKey()));
        var largestFirst = new PriorityQueue<Deque<K>>(Comparator.comparingInt(keys -> -keys.size()));
        largestFirst.addAll(byUid.values());
        for (; surplus > 0; surplus--) {
            var largest = largestFirst.remove();
            clocks.remove(largest.remove());
            if (!largest.isEmpty()) {
                largestFirst.add(largest);
            }
        }
    }
}
