package dev.genv.enforcer.enforcement.host;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.EnforcerFactory;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.fake.NoStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CycleClockTest {
    private static final Duration INTERVAL = Duration.ofSeconds(10);
    private static final HostBuilder STRAY = host().devices(1).with(process(1).uses(0));

    private final FakeTime time = new FakeTime();
    private boolean breaksOff;

    @Test
    void countsAtMostTwoIntervalsForACycle() {
        var clock = new CycleClock(time.ticker(), INTERVAL);
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

    @Test
    void gracePeriodDoesNotExpireWhileTheServiceIsSuspended() {
        var node = new FakeHost(STRAY);
        var enforcer = enforcer(node, new SafetyLimits(Duration.ofSeconds(60), null, 0));
        enforcer.runCycle();
        assertSuspensionCountsTwoIntervalsOf60Seconds(enforcer, node);
    }

    @Test
    void stateChangeGraceDoesNotExpireWhileTheServiceIsSuspended() {
        var job = process(1).inEnvironment("a").uses(0);
        var node = new FakeHost(host().devices(1).with(env("a").attached(0)).with(job));
        var enforcer = enforcer(node, new SafetyLimits(Duration.ofSeconds(60), null, 0));
        enforcer.runCycle();
        time.pass(Duration.ofSeconds(10));
        node.setSnapshot(host().devices(1).with(env("a")).with(job));
        enforcer.runCycle();
        assertSuspensionCountsTwoIntervalsOf60Seconds(enforcer, node);
    }

    @Test
    void noProcessIsKilledBecauseTheServiceWasSuspended() {
        var node = new FakeHost(STRAY);
        var enforcer = enforcer(node, new SafetyLimits(Duration.ZERO, Duration.ofSeconds(30), 0));
        enforcer.runCycle();
        time.pass(Duration.ofHours(5));
        enforcer.runCycle();
        assertThat(node.executed).as("20 s are counted").hasSize(1);

        runCycles(enforcer, 1);
        assertThat(node.executed.getLast())
                .isInstanceOfSatisfying(
                        Action.Terminate.class,
                        terminate -> assertThat(terminate.signal()).isEqualTo(Signal.KILL));
    }

    /** What breaks off a cycle may be a user's doing, and lasts as long as the user likes. */
    @Test
    void theGracePeriodDoesNotRunOutInCyclesThatBreakOff() {
        var node = new FakeHost(STRAY);
        var enforcer = enforcer(node, new SafetyLimits(Duration.ofSeconds(60), null, 0));
        enforcer.runCycle();
        breakOffCycles(enforcer, 30);
        runCycles(enforcer, 1);
        assertThat(node.executed).as("20 s are counted").isEmpty();

        runCycles(enforcer, 3);
        assertThat(node.executed).as("50 s are counted").isEmpty();
        runCycles(enforcer, 1);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void noProcessIsKilledBecauseCyclesBreakOff() {
        var node = new FakeHost(STRAY);
        var enforcer = enforcer(node, new SafetyLimits(Duration.ZERO, Duration.ofSeconds(30), 0));
        enforcer.runCycle();
        breakOffCycles(enforcer, 30);
        runCycles(enforcer, 1);
        assertThat(node.executed).as("20 s are counted").hasSize(1);

        runCycles(enforcer, 1);
        assertThat(node.executed).hasSize(2);
    }

    /** A process breaks the rule in the observations before and after, but its behaviour in between is unknown. */
    @Test
    void theGracePeriodDoesNotRunOutWhileTheHostDoesNotAnswer() {
        var node = new FakeHost(STRAY);
        var enforcer = enforcer(node, new SafetyLimits(Duration.ofSeconds(60), null, 0));
        enforcer.runCycle();
        node.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "no answer");
        });
        runCycles(enforcer, 30);
        node.setSnapshot(STRAY);
        runCycles(enforcer, 5);
        assertThat(node.executed).as("10 s and 4 × 10 s are counted").isEmpty();

        runCycles(enforcer, 1);
        assertThat(node.executed).hasSize(1);
    }

    @Test
    void halfOfTheTimeUntilSigkillCountsWhileTheHostDoesNotAnswer() {
        var node = new FakeHost(STRAY);
        var enforcer = enforcer(node, new SafetyLimits(Duration.ZERO, Duration.ofSeconds(30), 0));
        enforcer.runCycle();
        node.observeWith(() -> {
            throw new UnreachableException(ProblemCode.HOST_UNREACHABLE, "no answer");
        });
        runCycles(enforcer, 30);
        node.setSnapshot(STRAY);
        runCycles(enforcer, 2);
        assertThat(node.executed).as("15 s and 10 s are counted").hasSize(1);

        runCycles(enforcer, 1);
        assertThat(node.executed).hasSize(2);
    }

    private void breakOffCycles(Enforcer enforcer, int count) {
        breaksOff = true;
        for (var cycle = 0; cycle < count; cycle++) {
            time.pass(INTERVAL);
            assertThat(enforcer.runCycle().orElseThrow().result()).isEqualTo(CycleResult.FAILED);
        }
        breaksOff = false;
    }

    private void assertSuspensionCountsTwoIntervalsOf60Seconds(Enforcer enforcer, FakeHost node) {
        time.pass(Duration.ofHours(5));
        enforcer.runCycle();
        assertThat(node.executed).as("20 s are counted").isEmpty();

        runCycles(enforcer, 3);
        assertThat(node.executed).as("50 s are counted").isEmpty();
        runCycles(enforcer, 1);
        assertThat(node.executed).hasSize(1);
    }

    private void runCycles(Enforcer enforcer, int count) {
        for (var cycle = 0; cycle < count; cycle++) {
            time.pass(INTERVAL);
            enforcer.runCycle();
        }
    }

    private List<Host> hosts(FakeHost node) {
        if (breaksOff) {
            throw new IllegalStateException("no list of hosts");
        }
        return List.of(node);
    }

    private Enforcer enforcer(FakeHost node, SafetyLimits safetyLimits) {
        var rules = Map.of(KnownRules.NON_ENV_PROCESSES, RuleMode.ENFORCE, KnownRules.ENV_DEVICES, RuleMode.ENFORCE);
        var config = EnforcerConfigBuilder.enforcerConfig(() -> hosts(node))
                .rules(rules, Limits.NONE)
                .safetyLimits(safetyLimits)
                .interval(INTERVAL)
                .build();
        return EnforcerFactory.create(config, NoStore.records(new ViolationRegistry(10)), time.ticker(), List.of());
    }
}
