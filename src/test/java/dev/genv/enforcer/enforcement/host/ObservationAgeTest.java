package dev.genv.enforcer.enforcement.host;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class ObservationAgeTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private final FakeTime time = new FakeTime();
    private volatile Instant wall = FakeTime.START;
    private final Ticker clocks = new Ticker(() -> wall, time.ticker().nanos());

    /** The service may also be stopped while it observes. */
    @Test
    void timeToObserveCountsUpToItsTimeout() {
        var age = new ObservationAge(time.ticker(), INTERVAL, TIMEOUT);
        time.pass(Duration.ofSeconds(100));
        age.observed();
        assertThat(age.isTooOld()).isTrue();
    }

    /** The monotonic clock does not count time in which the machine is suspended. */
    @Test
    void theWallClockCountsTimeInWhichTheMachineIsSuspended() {
        var age = new ObservationAge(clocks, INTERVAL, TIMEOUT);
        age.observed();
        suspendMachine();
        assertThat(age.isTooOld()).isTrue();
    }

    @Test
    void aWallClockThatIsSetBackHidesNoTime() {
        var age = new ObservationAge(clocks, INTERVAL, TIMEOUT);
        age.observed();
        wall = FakeTime.START.minusSeconds(3_600);
        time.pass(Duration.ofSeconds(21));
        assertThat(age.isTooOld()).isTrue();
    }

    @Test
    void observationOfASingleCycleIsNeverTooOld() {
        var age = new ObservationAge(clocks, Duration.ZERO, TIMEOUT);
        suspendMachine();
        assertThat(age.isTooOld()).isFalse();
    }

    /** Not the time by which the service waits for the host: else it might not wait for it. */
    private void suspendMachine() {
        wall = wall.plus(Duration.ofHours(1));
    }
}
