package dev.genv.enforcer.remote.shell;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * What hung when it was asked, and is left alone for a while: each time it hangs, a process that nothing can end may stay
 * behind on the host. Each time it does so again, the while is twice as long.
 */
final class HangBackoff<K> {
    static final Duration SHORTEST = Duration.ofMinutes(1);
    static final Duration LONGEST = Duration.ofHours(1);
    private static final int MOST = 1000;

    private final LongSupplier nanos;
    private final Map<K, Pause> backoff = new LinkedHashMap<>();

    /**
     * With none yet.
     *
     * @param nanos as {@link System#nanoTime}
     */
    HangBackoff(LongSupplier nanos) {
        this.nanos = nanos;
    }

    private record Pause(long since, Duration length) {}

    void hung(K what) {
        var former = backoff.remove(what);
        var length = former == null ? SHORTEST : former.length.multipliedBy(2);
        backoff.put(what, new Pause(nanos.getAsLong(), length.compareTo(LONGEST) > 0 ? LONGEST : length));
        if (backoff.size() > MOST) {
            backoff.remove(backoff.keySet().iterator().next());
        }
    }

    void answered(K what) {
        backoff.remove(what);
    }

    boolean isPaused(K what) {
        var pause = backoff.get(what);
        return pause != null && nanos.getAsLong() - pause.since < pause.length.toNanos();
    }

    Set<K> paused() {
        return backoff.keySet().stream().filter(this::isPaused).collect(Collectors.toUnmodifiableSet());
    }
}
