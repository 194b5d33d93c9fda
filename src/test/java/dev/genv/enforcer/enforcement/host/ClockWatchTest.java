package dev.genv.enforcer.enforcement.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Ticker.ClockWatch;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class ClockWatchTest {
    private Instant wall = Instant.parse("2026-11-20T09:22:28Z");
    private long nanos = 42;
    private final ClockWatch watch = new ClockWatch(new Ticker(() -> wall, () -> nanos));

    @Test
    void reportsNothingWhileBothClocksAdvance() {
        pass(Duration.ofHours(1));
        wall = wall.plusMillis(1000);

        assertThat(watch.change()).isEmpty();
    }

    @Test
    void reportsEachClockChangeOnce() {
        pass(Duration.ofSeconds(1));
        wall = wall.minusSeconds(3600);
        assertThat(watch.change()).hasValue(Duration.ofHours(-1));
        assertThat(watch.change()).isEmpty();

        wall = wall.plusSeconds(31_536_000);
        assertThat(watch.change()).hasValue(Duration.ofDays(365));
    }

    private void pass(Duration time) {
        wall = wall.plus(time);
        nanos += time.toNanos();
    }
}
