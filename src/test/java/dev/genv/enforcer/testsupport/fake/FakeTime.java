package dev.genv.enforcer.testsupport.fake;

import dev.genv.enforcer.enforcement.host.Ticker;
import java.time.Duration;
import java.time.Instant;

/** A clock that advances only by a call. */
public final class FakeTime {
    public static final Instant START = Instant.parse("2026-11-20T09:22:28Z");
    private Duration passed = Duration.ZERO;
    private Duration setBack = Duration.ZERO;

    public Ticker ticker() {
        return new Ticker(() -> START.plus(passed).minus(setBack), () -> passed.toNanos());
    }

    /** Sets the time since the start; it never goes back. */
    public void passTo(Duration sinceStart) {
        if (sinceStart.compareTo(passed) < 0) {
            throw new IllegalArgumentException("time does not go back to " + sinceStart);
        }
        passed = sinceStart;
    }

    /** Sets the wall clock back; the monotonic clock goes on. */
    public void setWallBack(Duration by) {
        setBack = setBack.plus(by);
    }

    public Duration passed() {
        return passed;
    }

    public void pass(Duration more) {
        passed = passed.plus(more);
    }
}
