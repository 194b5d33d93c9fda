package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.history.state.StateChange;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Another user changes the state after a process was started, and before the service observes it. */
class UnobservedChangeTest {
    private static final long OBSERVED = 1_000_000;
    private static final long LATER = 20_000;
    private static final long STARTED =
            process(1).startedLaterBy(LATER).build().id().startTime();
    private static final Duration GRACE = Duration.ofSeconds(60);

    private final FakeTime time = new FakeTime();
    private final ViolationRegistry registry = new ViolationRegistry(100);
    private final FakeHost node = new FakeHost(host());
    private final Enforcer enforcer = enforcer();

    /** The grace of the start is over. */
    @BeforeEach
    void observeForSomeTime() {
        node.setTicks(OBSERVED).stateChangedAt(OBSERVED - 1);
        shows(0, at());
        cycles(60);
        node.setTicks(STARTED + 1000);
    }

    @ParameterizedTest
    @ValueSource(strings = {"non-env-processes", "inactive-env-processes", "env-devices", "env-memory"})
    void whatMayRestOnItGetsTheStateChangeGraceOnce(String rule) {
        node.stateChangedAt(STARTED);
        shows(100, broken(rule));
        node.setTicks(STARTED + 2000).stateChangedAt(STARTED + 1500); // others go on using genv
        cycles(159);
        assertThat(node.executed).isEmpty();
        assertThat(registry.find(ViolationRecord::active, 10))
                .singleElement()
                .satisfies(
                        entry -> assertThat(entry.change())
                                .isNotNull()
                                .extracting(StateChange::before)
                                .isEqualTo(
                                        "not known, because the state was changed between the start of a process and its first observation"));

        cycles(160);
        assertThat(node.executed).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"non-env-processes", "inactive-env-processes", "env-devices", "env-memory"})
    void aStateThatWasLastChangedBeforeTheStartHidesNothing(String rule) {
        node.stateChangedAt(STARTED - 1);
        shows(100, broken(rule));

        assertThat(node.executed).hasSize(1);
    }

    /** Its process did not come to the GPU at once: an observation without it shows nothing of what it relied on. */
    @Test
    void aProcessThatReachesTheGpuLaterGetsTheGraceToo() {
        node.stateChangedAt(STARTED);
        shows(100, at(env("a")));
        node.setTicks(STARTED + 2000);
        shows(110, at(env("a"), job().uses(0)));

        assertThat(node.executed).isEmpty();
    }

    @Test
    void aProcessThatWasObservedOnTheDeviceBeforeGetsNone() {
        node.stateChangedAt(STARTED - 1);
        shows(100, at(env("a").capacity("1g").attached(0), job().uses(0, "500mi")));
        node.setTicks(STARTED + 2000).stateChangedAt(STARTED + 1500);
        shows(110, at(env("a").capacity("1g").attached(0), job().uses(0, "2000mi")));

        assertThat(node.executed).hasSize(1);
    }

    /** The first observed capacity may be one that another user wrote. The process allocates most of its memory later. */
    @Test
    void aProcessThatExceedsTheFirstObservedCapacityLaterGetsTheGraceOnce() {
        node.stateChangedAt(STARTED);
        shows(100, at(env("a").capacity("1g").attached(0), job().uses(0, "500mi")));
        node.setTicks(STARTED + 2000);
        shows(110, at(env("a").capacity("1g").attached(0), job().uses(0, "2000mi")));
        cycles(169);
        assertThat(node.executed).isEmpty();

        cycles(170);
        assertThat(node.executed).hasSize(1);
    }

    /** Its first observation showed the state that was valid at its start. */
    @Test
    void aProcessThatWasObservedInAnUnchangedStateGetsNoneForItsMemory() {
        node.stateChangedAt(STARTED - 1);
        shows(100, at(env("a").capacity("1g").attached(0), job().uses(0, "500mi")));
        shows(105, at(env("a").capacity("1g").attached(0)));
        node.setTicks(STARTED + 2000).stateChangedAt(STARTED + 1500);
        shows(110, at(env("a").capacity("1g").attached(0), job().uses(0, "2000mi")));

        assertThat(node.executed).hasSize(1);
    }

    @Test
    void aProcessThatTakesAFurtherDeviceGetsIt() {
        node.stateChangedAt(STARTED - 1);
        shows(100, at(env("a").attached(0), job().uses(0)));
        node.setTicks(STARTED + 2000).stateChangedAt(STARTED + 1500);
        shows(110, at(env("a").attached(0), job().uses(0).uses(1)));

        assertThat(node.executed).isEmpty();
    }

    /** One attachment was observed and is gone, the other one came and went in between. */
    @Test
    void anObservedChangeAndAnUnobservedOneTogetherAreAChange() {
        node.stateChangedAt(STARTED - 1);
        shows(100, at(env("a").attached(0), job().uses(0)));
        node.setTicks(STARTED + 2000).stateChangedAt(STARTED + 1500);
        shows(110, at(env("a"), job().uses(0).uses(1)));

        assertThat(node.executed).isEmpty();
    }

    /** The rules could not judge it then. */
    @Test
    void anObservationThatIsNotCompleteIsNotTheFirst() {
        node.stateChangedAt(STARTED);
        shows(100, at(env("a"), job().uses(0)).missing(SnapshotPart.ATTACHMENTS));
        shows(
                110,
                at(
                        env("a"),
                        process(1).startedLaterBy(LATER).membershipUnknown().uses(0)));
        shows(120, at(env("a"), job().uses(0)));
        assertThat(node.executed).isEmpty();

        cycles(180);
        assertThat(node.executed).hasSize(1);
    }

    /** Otherwise a user who writes the file in every interval could use a device in every second one without an end. */
    @Test
    void aProcessThatComesAndGoesGetsItOnce() {
        var changed = STARTED;
        for (var second = 100; second < 220; second += 20) {
            node.stateChangedAt(changed++);
            shows(second, at(env("a"), job().uses(0)));
            assertThat(node.executed).as("second %d", second).isEmpty();
            shows(second + 10, at(env("a")));
        }
        node.stateChangedAt(changed);
        shows(220, at(env("a"), job().uses(0)));

        assertThat(node.executed).hasSize(1);
    }

    private static HostBuilder broken(String rule) {
        return switch (rule) {
            case "non-env-processes" -> at(process(1).startedLaterBy(LATER).uses(0));
            case "inactive-env-processes" -> at(job().uses(0));
            case "env-devices" -> at(env("a"), job().uses(0));
            case "env-memory" -> at(env("a").capacity("1g").attached(0), job().uses(0, "2000mi"));
            default -> throw new IllegalArgumentException(rule);
        };
    }

    private static GpuProcessBuilder job() {
        return process(1).inEnvironment("a").startedLaterBy(LATER);
    }

    private static HostBuilder at(GpuProcessBuilder... processes) {
        return host().devices(2).with(processes);
    }

    private static HostBuilder at(EnvBuilder environment, GpuProcessBuilder... processes) {
        return at(processes).with(environment);
    }

    private void shows(int second, HostBuilder host) {
        node.setSnapshot(host);
        cycles(second);
    }

    private void cycles(int second) {
        time.passTo(Duration.ofSeconds(second));
        assertThat(enforcer.runCycle()).isPresent();
    }

    private Enforcer enforcer() {
        var modes =
                Arrays.stream(KnownRules.all()).collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .interval(Duration.ofDays(1))
                .rules(modes, Limits.NONE)
                .safetyLimits(new SafetyLimits(Duration.ZERO, GRACE, null, 0))
                .build();
        return new Enforcer(config, registry, time.ticker(), List.of());
    }
}
