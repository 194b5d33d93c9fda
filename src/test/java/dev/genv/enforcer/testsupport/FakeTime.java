package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.enforcement.Ticker;
import java.time.Duration;
import java.time.Instant;

/** A time that goes on only when it is told to. */
public final class FakeTime {
    public static final Instant START = Instant.parse("2026-11-20T09:22:28Z");
    private Duration passed = Duration.ZERO;

    public Ticker ticker() {
        return new Ticker(() -> START.plus(passed), () -> passed.toNanos());
    }

    public void pass(Duration more) {
        passed = passed.plus(more);
    }
}
