package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CycleScheduleTest {
    private final CycleSchedule schedule = new CycleSchedule(Duration.ofSeconds(10), Duration.ofSeconds(80));

    @ParameterizedTest
    @CsvSource({"30000, false, false", "30001, true, false", "110000, true, false", "110001, true, true"})
    void cycleIsStaleAndAtLastStalled(long millis, boolean isStale, boolean isStalled) {
        var since = Duration.ofMillis(millis);
        assertThat(schedule.isStale(since)).isEqualTo(isStale);
        assertThat(schedule.isStalled(since)).isEqualTo(isStalled);
    }

    /** A cycle that is still running when an interval begins takes the place of its cycle. Random delays do not add up. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, 10000",
        "3000, 0, 7000",
        "3000, 0.5, 8000",
        "3000, 0.999, 8998",
        "12000, 0.5, 9000",
        "20001, 0, 9999"
    })
    void nextCycleIsDueInTheNextIntervalWithADelayOfUpToAFifthOfIt(long sinceFirst, double random, long millis) {
        assertThat(schedule.untilNext(Duration.ofMillis(sinceFirst), random)).isEqualTo(Duration.ofMillis(millis));
    }
}
