package dev.genv.enforcer.enforcement.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class CycleClockTest {
    private final FakeTime time = new FakeTime();

    @Test
    void countsAtMostTwoIntervalsForACycle() {
        var clock = new CycleClock(time.ticker(), Duration.ofSeconds(10));
        var ticker = clock.ticker();
        clock.endCycle();
        var start = ticker.mark();
        time.pass(Duration.ofHours(5));
        assertThat(ticker.since(start)).isEqualTo(Duration.ofSeconds(20));
        clock.endCycle();
        time.pass(Duration.ofSeconds(10));
        assertThat(ticker.since(start)).isEqualTo(Duration.ofSeconds(30));
        assertThat(ticker.now()).as("the time of day is the real one").isEqualTo(FakeTime.START.plusSeconds(18010));
    }
}
