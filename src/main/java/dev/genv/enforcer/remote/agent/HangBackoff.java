package dev.genv.enforcer.remote.agent;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * Pauses between attempts at what hung. Each attempt may leave a process on the machine that nothing can terminate, so the pause
 * doubles each time.
 */
final class HangBackoff<K> {
    static final Duration SHORTEST = Duration.ofMinutes(1);
    static final Duration LONGEST = Duration.ofHours(1);
    private static final int MAX_REMEMBERED = 1000;

    private final LongSupplier nanos;
    private final Map<K, Pause> pauses = new LinkedHashMap<>();

    /** Creates a backoff without pauses, with a clock like {@link System#nanoTime}. */
    HangBackoff(LongSupplier nanos) {
        this.nanos = nanos;
    }

    private record Pause(long since, Duration length) {}

    void recordHang(K what) {
        var former = pauses.remove(what);
        var length = former == null ? SHORTEST : former.length.multipliedBy(2);
        pauses.put(what, new Pause(nanos.getAsLong(), length.compareTo(LONGEST) > 0 ? LONGEST : length));
        if (pauses.size() > MAX_REMEMBERED) {
            pauses.remove(pauses.keySet().iterator().next());
        }
    }

    void recordAnswer(K what) {
        pauses.remove(what);
    }

    boolean isPaused(K what) {
        var pause = pauses.get(what);
        return pause != null && nanos.getAsLong() - pause.since < pause.length.toNanos();
    }

    Set<K> paused() {
        return pauses.keySet().stream().filter(this::isPaused).collect(Collectors.toUnmodifiableSet());
    }
}
