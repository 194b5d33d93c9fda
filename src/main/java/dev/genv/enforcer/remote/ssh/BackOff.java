package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.enforcement.UnreachableException;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** How long a host that failed is left alone: longer each time, and not all hosts until the same moment. */
final class BackOff {
    private static final long FIRST = Duration.ofSeconds(1).toNanos();
    private static final int MOST_DOUBLINGS = 6;
    private static final long LONGEST = Duration.ofSeconds(60).toNanos();

    private final LongSupplier nanoTime;
    private final RandomGenerator random;
    private int failures;
    private boolean stumbled;
    private long since;
    private long pause;
    private @Nullable UnreachableException last;

    BackOff(LongSupplier nanoTime, RandomGenerator random) {
        this.nanoTime = nanoTime;
        this.random = random;
    }

    /**
     * Lets pass when it is time for the next try.
     *
     * @throws UnreachableException the last failure, and how long it still takes
     */
    void check() throws UnreachableException {
        var left = pause - (nanoTime.getAsLong() - since);
        if (last != null && left > 0) {
            var seconds = Duration.ofNanos(left).plusMillis(999).toSeconds();
            throw new UnreachableException(last.code(), last.getMessage() + "; next try in " + seconds + " s");
        }
    }

    /** It failed. */
    void failed(UnreachableException why) {
        var longest = Math.min(LONGEST, FIRST << Math.min(failures, MOST_DOUBLINGS));
        pause = longest / 2 + random.nextLong(longest / 2 + 1);
        since = nanoTime.getAsLong();
        failures++;
        last = why;
    }

    /** It failed in a way that may happen once: only the second time in a row counts. */
    void stumbled(UnreachableException why) {
        if (stumbled) {
            failed(why);
        }
        stumbled = true;
    }

    /** It went well. */
    void reset() {
        failures = 0;
        stumbled = false;
        last = null;
    }
}
