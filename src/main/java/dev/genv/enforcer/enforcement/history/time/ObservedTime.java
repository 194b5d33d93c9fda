package dev.genv.enforcer.enforcement.history.time;

import dev.genv.enforcer.enforcement.clock.Ticker;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How long a part of a host has been observed. Time during which it could not be read does not count. */
public final class ObservedTime {
    private final Ticker ticker;
    private @Nullable Long firstTicks;
    private @Nullable Long lastMark;
    private Duration length = Duration.ZERO;

    /**
     * A moment.
     *
     * @param at by the ticker's mark, to be compared with those of other hosts
     * @param observed for how long the part had been observed by then
     */
    public record Moment(long at, Duration observed) {}

    /**
     * The observed time in a form that stays the same while the part is read in every cycle.
     *
     * @param origin the ticker's mark of the last observation less the length; null if the part could not be read
     * @param length zero if the part was read
     */
    public record Saved(@Nullable Long firstTicks, @Nullable Long origin, Duration length) {}

    public ObservedTime(Ticker ticker) {
        this.ticker = ticker;
    }

    public Saved save() {
        return lastMark == null
                ? new Saved(firstTicks, null, length)
                : new Saved(firstTicks, lastMark - length.toNanos(), Duration.ZERO);
    }

    /**
     * Restores a saved time.
     *
     * @param observed the mark of the last observation
     */
    public static ObservedTime restore(Saved saved, long observed, Ticker ticker) {
        var restored = new ObservedTime(ticker);
        restored.firstTicks = saved.firstTicks;
        restored.lastMark = saved.origin == null ? null : observed;
        restored.length = saved.origin == null ? saved.length : Duration.ofNanos(Math.max(0, observed - saved.origin));
        return restored;
    }

    /** Records that the part was read at this number of clock ticks since boot. */
    public void observed(long ticks) {
        if (firstTicks == null) {
            firstTicks = ticks;
        }
        var now = ticker.mark();
        if (lastMark != null) {
            length = length.plusNanos(now - lastMark);
        }
        lastMark = now;
    }

    /** Records that the part could not be read. */
    public void interrupted() {
        lastMark = null;
    }

    public Duration length() {
        return length;
    }

    public Moment now() {
        return new Moment(ticker.mark(), length);
    }

    /** For how long it has been observed since that moment. */
    public Duration since(Moment moment) {
        return length.minus(moment.observed);
    }

    public boolean hasBegun() {
        return firstTicks != null;
    }

    /** Whether something that began at this number of clock ticks since boot is older than the first observation. */
    public boolean isOlder(long ticks) {
        return firstTicks == null || ticks < firstTicks;
    }

    /** Whether something that began at this number of clock ticks existed in the first observation. */
    public boolean isInFirst(long ticks) {
        return firstTicks == null || ticks <= firstTicks;
    }
}
