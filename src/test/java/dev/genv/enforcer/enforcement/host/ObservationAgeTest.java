package dev.genv.enforcer.enforcement.host;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ObservationAgeTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final HostBuilder STRAY = host().devices(1).with(process(1).uses(0));

    private final FakeTime time = new FakeTime();
    private volatile Instant wall = FakeTime.START;
    private final Ticker clocks = new Ticker(() -> wall, time.ticker().nanos());
    private final ViolationRegistry registry = new ViolationRegistry(10);
    private final FakeHost node = new FakeHost(STRAY);

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
    void nothingIsDoneForAnObservationThatIsTooOldAndTheNextCycleDecidesAnew() {
        var enforcer = enforcer(INTERVAL);
        node.observeWith(() -> {
            suspendMachine();
            return STRAY.snapshot();
        });
        var report = enforcer.runCycle().orElseThrow();
        assertThat(node.executed).isEmpty();
        assertThat(report.result()).isEqualTo(CycleResult.SUCCESS);
        assertThat(report.actions())
                .singleElement()
                .satisfies(record -> assertThat(record.result().outcome()).isEqualTo(Outcome.SKIPPED_GRACE));

        node.setSnapshot(STRAY);
        enforcer.runCycle();
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void aSingleCycleActsHoweverLongItsObservationTakes() {
        node.observeWith(() -> {
            suspendMachine();
            return STRAY.snapshot();
        });
        enforcer(Duration.ZERO).runCycle();
        assertThat(node.executed).hasSize(1);
    }

    /** Not the time by which the service waits for the host: else it might not wait for it. */
    private void suspendMachine() {
        wall = wall.plus(Duration.ofHours(1));
    }

    private Enforcer enforcer(Duration interval) {
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), Limits.NONE)
                .interval(interval)
                .observationTimeout(TIMEOUT)
                .build();
        return EnforcerFactory.create(config, NoStore.records(registry), clocks, List.of());
    }
}
