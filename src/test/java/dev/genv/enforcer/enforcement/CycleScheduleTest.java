package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CycleScheduleTest {
    private final CycleSchedule schedule = new CycleSchedule(Duration.ofSeconds(10), Duration.ofSeconds(80));

    @ParameterizedTest
    @CsvSource({
        "14000, false, false, false",
        "14001, true, false, false",
        "30000, true, false, false",
        "30001, true, true, false",
        "110000, true, true, false",
        "110001, true, true, true",
    })
    void cycleIsOverdueAndStaleAndAtLastStalled(long millis, boolean isOverdue, boolean isStale, boolean isStalled) {
        var since = Duration.ofMillis(millis);
        assertThat(schedule.isOverdue(since)).isEqualTo(isOverdue);
        assertThat(schedule.isStale(since)).isEqualTo(isStale);
        assertThat(schedule.isStalled(since)).isEqualTo(isStalled);
    }

    @ParameterizedTest
    @CsvSource({"10, 0, 0", "10, 0.5, 1000", "86400, 0.25, 4320000"})
    void delaysACycleByUpToAFifthOfTheInterval(long interval, double random, long millis) {
        var delay = new CycleSchedule(Duration.ofSeconds(interval), Duration.ZERO).delay(random);
        assertThat(delay).isEqualTo(Duration.ofMillis(millis));
    }
}
