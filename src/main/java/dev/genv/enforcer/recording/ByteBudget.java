package dev.genv.enforcer.recording;

import java.time.Duration;
import java.time.Instant;

/** The bytes that the records of one host may take, because users choose the size of the state and how often it changes. */
final class ByteBudget {
    /** Saved up by a host that changes little. */
    static final long LARGEST = 2L << 20;
    /** A host with a new process in every second needs about half of it. */
    static final long PER_MINUTE = 32L << 10;
    /** After it was used up it is saved up again to this amount, so that the record is not interrupted in every cycle. */
    private static final long ENOUGH = LARGEST / 2;

    private static final Duration LONGEST = Duration.ofMinutes(LARGEST / PER_MINUTE);

    private long left = LARGEST;
    private Instant at;
    private boolean isExhausted;

    ByteBudget(Instant at) {
        this.at = at;
    }

    /** Adds what is allowed for the time since the last call; a clock that was set back adds nothing. */
    void elapse(Instant now) {
        var passed = Duration.between(at, now);
        at = now;
        if (passed.isPositive()) {
            var most = passed.compareTo(LONGEST) < 0 ? passed : LONGEST;
            left = Math.min(
                    LARGEST,
                    left + most.toMillis() * PER_MINUTE / Duration.ofMinutes(1).toMillis());
        }
    }

    /** Whether nothing may be written for now. */
    boolean isExhausted() {
        isExhausted = isExhausted && left < ENOUGH;
        return isExhausted;
    }

    /** Takes this number of bytes; returns false if they may not be written. */
    boolean take(int bytes) {
        isExhausted = bytes > left;
        if (!isExhausted) {
            left -= bytes;
        }
        return !isExhausted;
    }
}
