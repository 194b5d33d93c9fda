package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class CycleScheduleTest {
    private final CycleSchedule schedule = new CycleSchedule(Duration.ofSeconds(10), Duration.ofSeconds(80));

    @Test
    void isOverdueAfterIntervalMaximumDelayAndMargin() {
        assertThat(schedule.isOverdue(Duration.ofSeconds(14))).isFalse();
        assertThat(schedule.isOverdue(Duration.ofMillis(14_001))).isTrue();
    }

    @Test
    void delaysACycleByUpToAFifthOfTheInterval() {
        assertThat(schedule.delay(0)).isZero();
        assertThat(schedule.delay(0.5)).isEqualTo(Duration.ofSeconds(1));
        assertThat(schedule.delay(Math.nextDown(1.0))).isLessThanOrEqualTo(Duration.ofSeconds(2));
        assertThat(new CycleSchedule(Duration.ofHours(24), Duration.ZERO).delay(0.25))
                .isEqualTo(Duration.ofMinutes(72));
    }

    @Test
    void isStaleAfterThreeIntervals() {
        assertThat(schedule.isStale(Duration.ofSeconds(30))).isFalse();
        assertThat(schedule.isStale(Duration.ofMillis(30_001))).isTrue();
    }

    @Test
    void isStalledOnlyAfterTheSlowestPossibleCycle() {
        assertThat(schedule.isStalled(Duration.ofSeconds(110))).isFalse();
        assertThat(schedule.isStalled(Duration.ofMillis(110_001))).isTrue();
    }
}
