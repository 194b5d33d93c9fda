package dev.genv.enforcer.enforcement;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** For how long a part of a host has been observed. Time in which it could not be read does not count. */
final class ObservedTime {
    private final Ticker ticker;
    private @Nullable Long firstTicks;
    private @Nullable Long lastMark;
    private Duration length = Duration.ZERO;

    ObservedTime(Ticker ticker) {
        this.ticker = ticker;
    }

    /** It was read at that many clock ticks since boot. */
    void observed(long ticks) {
        if (firstTicks == null) {
            firstTicks = ticks;
        }
        if (lastMark != null) {
            length = length.plus(ticker.since(lastMark));
        }
        lastMark = ticker.mark();
    }

    /** It could not be read. */
    void interrupted() {
        lastMark = null;
    }

    Duration length() {
        return length;
    }

    boolean hasBegun() {
        return firstTicks != null;
    }

    /** Whether what began at that many clock ticks since boot is older than the first observation. */
    boolean isOlder(long ticks) {
        return firstTicks == null || ticks < firstTicks;
    }

    /** Whether it was there in the first observation. */
    boolean isInFirst(long ticks) {
        return firstTicks == null || ticks <= firstTicks;
    }
}
