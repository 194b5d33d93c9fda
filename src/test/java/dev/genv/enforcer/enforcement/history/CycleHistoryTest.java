package dev.genv.enforcer.enforcement.history;

import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.enforcement.clock.ObservationAge;
import dev.genv.enforcer.enforcement.history.state.AppearanceConfig;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.policy.plan.Plan;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CycleHistoryTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);

    private final FakeTime time = new FakeTime();
    private final FakeHost node = new FakeHost(host().devices(1).with(process(1).uses(0)));
    private final CycleHistory history = new CycleHistory(
            AppearanceConfig.of(Duration.ofSeconds(60), INTERVAL), Duration.ofSeconds(60), time.ticker());

    @Test
    void recordsThePlanOfAnObservationOnce() {
        var seen = observe();
        history.record(seen, Plan.EMPTY);

        assertThatThrownBy(() -> history.record(seen, Plan.EMPTY)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void recordsNoPlanOfAnEarlierObservation() {
        var earlier = observe();
        var seen = observe();

        assertThatThrownBy(() -> history.record(earlier, Plan.EMPTY)).isInstanceOf(IllegalStateException.class);
        assertThat(history.record(seen, Plan.EMPTY).seen()).isEqualTo(seen);
    }

    @Test
    void countsTheTimeFromOneRecordedPlanToTheNext() {
        var first = evidence();
        var violation = first.plan().violations().getFirst();
        assertThat(first.reportedFor(violation)).isZero();

        time.pass(INTERVAL);
        observe(); // its cycle fails, so its plan is not recorded
        time.pass(INTERVAL);
        assertThat(evidence().reportedFor(violation)).isEqualTo(INTERVAL.multipliedBy(2));
    }

    @Test
    void remembersAResolvedViolationForTheCompliancePeriod() {
        var violation = evidence().plan().violations().getFirst();
        time.pass(INTERVAL);
        history.record(observe(), Plan.EMPTY).endCycle(Set.of());

        time.pass(Duration.ofSeconds(60));
        history.record(observe(), Plan.EMPTY).endCycle(Set.of());
        assertThat(evidence().reportedFor(violation)).isEqualTo(INTERVAL);
    }

    @Test
    void forgetsAResolvedViolationAfterTheCompliancePeriod() {
        var violation = evidence().plan().violations().getFirst();
        time.pass(INTERVAL);
        history.record(observe(), Plan.EMPTY).endCycle(Set.of());

        time.pass(Duration.ofSeconds(61));
        history.record(observe(), Plan.EMPTY).endCycle(Set.of());
        assertThat(evidence().reportedFor(violation)).isZero();
    }

    private Evidence evidence() {
        var seen = observe();
        var policy = KnownRules.policy(Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE), Limits.NONE);
        return history.record(seen, policy.check(seen.fleet(), Set.of()));
    }

    private SeenFleet observe() {
        var age = new ObservationAge(time.ticker(), INTERVAL, Duration.ZERO);
        return history.record(new SeenFleet.Observed(
                List.of(node.report()), false, age, time.ticker().now()));
    }
}
