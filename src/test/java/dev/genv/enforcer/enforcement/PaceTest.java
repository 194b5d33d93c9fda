package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class PaceTest {
    private final Pace pace = new Pace(Duration.ofSeconds(10), Duration.ofSeconds(80));

    @Test
    void isOverdueAfterAnIntervalTheLongestDelayAndAMoment() {
        assertThat(pace.isOverdue(Duration.ofSeconds(14))).isFalse();
        assertThat(pace.isOverdue(Duration.ofMillis(14_001))).isTrue();
    }

    @Test
    void delaysACycleByUpToAFifthOfTheInterval() {
        assertThat(pace.delay(0)).isZero();
        assertThat(pace.delay(0.5)).isEqualTo(Duration.ofSeconds(1));
        assertThat(pace.delay(Math.nextDown(1.0))).isLessThanOrEqualTo(Duration.ofSeconds(2));
        assertThat(new Pace(Duration.ofHours(24), Duration.ZERO).delay(0.25)).isEqualTo(Duration.ofMinutes(72));
    }

    @Test
    void theNextCycleComesAnIntervalAfterTheLast() {
        assertThat(pace.untilNext(Duration.ofSeconds(4))).isEqualTo(Duration.ofSeconds(6));
        assertThat(pace.untilNext(Duration.ofSeconds(40))).isEqualTo(Duration.ofMillis(1));
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
