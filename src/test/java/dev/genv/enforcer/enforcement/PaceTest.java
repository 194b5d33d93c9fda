package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class PaceTest {
    private final Pace pace = new Pace(Duration.ofSeconds(10), Duration.ofSeconds(80));

    @Test
    void isOverdueAfterAnIntervalAndAMoment() {
        assertThat(pace.isOverdue(Duration.ofSeconds(12))).isFalse();
        assertThat(pace.isOverdue(Duration.ofMillis(12_001))).isTrue();
    }

    @Test
    void isStaleAfterThreeIntervals() {
        assertThat(pace.isStale(Duration.ofSeconds(30))).isFalse();
        assertThat(pace.isStale(Duration.ofMillis(30_001))).isTrue();
    }

    @Test
    void isStalledOnlyWhenNotEvenASlowCycleExplainsIt() {
        assertThat(pace.isStalled(Duration.ofSeconds(110))).isFalse();
        assertThat(pace.isStalled(Duration.ofMillis(110_001))).isTrue();
    }
}
