package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.agent.HostMemory.HangBackoff;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class HangBackoffTest {
    private final AtomicLong nanos = new AtomicLong(-5);
    private final HangBackoff<String> backoff = new HangBackoff<>(nanos::get);

    @Test
    void doublesThePauseUpToOneHour() {
        assertThat(backoff.isPaused("a")).isFalse();
        for (var length = Duration.ofMinutes(1); length.toMinutes() < 60; length = length.multipliedBy(2)) {
            assertPausedFor(length);
        }
        assertPausedFor(Duration.ofHours(1));
        assertPausedFor(Duration.ofHours(1));
    }

    private void assertPausedFor(Duration length) {
        backoff.record("a", true);
        nanos.addAndGet(length.toNanos() - 1);
        assertThat(backoff.isPaused("a")).isTrue();
        assertThat(backoff.isPaused("b")).isFalse();
        assertThat(backoff.paused()).containsExactly("a");
        nanos.incrementAndGet();
        assertThat(backoff.isPaused("a")).isFalse();
        assertThat(backoff.paused()).isEmpty();
    }

    @Test
    void answerEndsThePause() {
        backoff.record("a", true);
        backoff.record("a", true);
        backoff.record("a", false);
        assertThat(backoff.isPaused("a")).isFalse();
        assertPausedFor(Duration.ofMinutes(1));
    }

    @Test
    void keepsAtMostOneThousandEntries() {
        for (var i = 0; i < 1500; i++) {
            backoff.record("number " + i, true);
        }
        assertThat(backoff.paused()).hasSize(1000).contains("number 1499").doesNotContain("number 0");
    }
}
