package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.enforcement.host.UnreachableException;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** How long a failed host is not contacted: longer after each failure, with random variation between hosts. */
public final class BackOff {
    private static final long FIRST = Duration.ofSeconds(1).toNanos();
    private static final int MAX_DOUBLINGS = 6;
    private static final long LONGEST = Duration.ofSeconds(60).toNanos();

    private final LongSupplier nanoTime;
    private final RandomGenerator random;
    private int failures;
    private boolean interrupted;
    private long since;
    private long pause;
    private @Nullable UnreachableException last;

    public BackOff(LongSupplier nanoTime, RandomGenerator random) {
        this.nanoTime = nanoTime;
        this.random = random;
    }

    /**
     * Returns normally if the next attempt is due.
     *
     * @throws UnreachableException with the last failure and the remaining time, if it is not due
     */
    public void check() throws UnreachableException {
        var left = pause - (nanoTime.getAsLong() - since);
        if (last != null && left > 0) {
            var seconds = Duration.ofNanos(left).plusMillis(999).toSeconds();
            throw new UnreachableException(last.code(), last.getMessage() + "; next try in " + seconds + " s");
        }
    }

    /** Records a failure. */
    public void failed(UnreachableException why) {
        var longest = Math.min(LONGEST, FIRST << Math.min(failures, MAX_DOUBLINGS));
        pause = longest / 2 + random.nextLong(longest / 2 + 1);
        since = nanoTime.getAsLong();
        failures++;
        last = why;
    }

    /** Records a failure that may happen once: only the second one in a row counts. */
    public void interrupted(UnreachableException why) {
        if (interrupted) {
            failed(why);
        }
        interrupted = true;
    }

    /** Records a success. */
    public void reset() {
        failures = 0;
        interrupted = false;
        last = null;
    }
}
