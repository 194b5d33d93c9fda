package dev.genv.enforcer.enforcement.safeguard.grace;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.enforcement.violation.ViolationRegistry;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnforcerConfigBuilder;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** When the rule env-owner terminates a process. Process 1 is of another user than raz's environment a. */
class StrangerGraceTest {
    private static final int STRANGER = 1007;
    private static final Duration GRACE = Duration.ofSeconds(60);

    private final FakeTime time = new FakeTime();
    /** It was observed for the first time before the processes were started. */
    private final FakeHost node = new FakeHost(host()).setTicks(900_000);

    private RuleMode mode = RuleMode.ENFORCE;

    @Test
    void terminatesAStrangerAfterTheGrace() {
        var enforcer = enforcer();
        node.setSnapshot(with(stranger()));
        runCycles(enforcer, 0, 30, 59);
        assertThat(terminated()).isEmpty();

        runCycles(enforcer, 60);
        assertThat(terminated()).containsExactly(1);
    }

    @Test
    void doesNotTerminateInAudit() {
        mode = RuleMode.AUDIT;
        node.setSnapshot(with(stranger()));
        var report = runCycles(enforcer(), 0, 60, 120);

        assertThat(terminated()).isEmpty();
        assertThat(report.actions())
                .extracting(record -> record.result().outcome())
                .containsExactly(Outcome.SKIPPED_AUDIT);
    }

    @Test
    void doesNotTerminateAnExemptProcess() {
        node.setSnapshot(with(stranger().immune(Immunity.Kind.EXEMPT, "so")));
        runCycles(enforcer(), 0, 60, 120);
        assertThat(terminated()).isEmpty();
    }

    @Test
    void countsOnlyTheTimeInWhichItWasAStranger() {
        var enforcer = enforcer();
        for (var seconds = 0; seconds < 60; seconds += 20) {
            node.setSnapshot(with(stranger()));
            runCycles(enforcer, seconds);
            node.setSnapshot(with());
            runCycles(enforcer, seconds + 10);
        }
        node.setSnapshot(with(stranger()));
        runCycles(enforcer, 60, 89);
        assertThat(terminated()).isEmpty();

        runCycles(enforcer, 90);
        assertThat(terminated()).containsExactly(1);
    }

    @Test
    void neverTerminatesWhereTheEnvironmentIsDisputed() {
        var enforcer = enforcer();
        node.setSnapshot(with(stranger()));
        runCycles(enforcer, 0, 50);
        node.setSnapshot(host().devices(1)
                .with(environmentOfOwner().disputed("its pids are of uids 1000, 1007"))
                .with(stranger()));
        runCycles(enforcer, 60, 120, 180);
        assertThat(terminated()).isEmpty();
    }

    /** Another user replaces the environment with the user's own uid and pid, so the job of its user appears as a stranger. */
    @Test
    void neverTerminatesAProcessOfTheFormerOwner() {
        var enforcer = enforcer();
        node.setSnapshot(with(process(2).inEnvironment("a").uses(0)));
        runCycles(enforcer, 0);
        node.setSnapshot(host().devices(1)
                .with(env("a").user("attacker")
                        .uid(STRANGER)
                        .livePidsOf(STRANGER)
                        .attached(0))
                .with(process(2).inEnvironment("a").uses(0)));
        var report = runCycles(enforcer, 10, 70, 3600, 7100, 10_600);

        assertThat(terminated()).isEmpty();
        assertThat(report.lines())
                .anyMatch(line -> line.contains("a process of the same user was in environment a before"));
    }

    /** As in a container with a user namespace. */
    @Test
    void neverTerminatesAProcessOfASubordinateUidWhoseUserHadTheEnvironment() {
        var enforcer = enforcer();
        var job = process(2).inEnvironment("a").uid(165_536).uses(0);
        node.setSnapshot(with(job).subordinate(1000, 165_536, 65_536));
        runCycles(enforcer, 0);
        node.setSnapshot(host().devices(1)
                .subordinate(1000, 165_536, 65_536)
                .with(environmentOfStranger())
                .with(job));
        runCycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    /** Whether a user was written out of the environment or into it, the kernel does not tell. */
    @Test
    void neverTerminatesAStrangerThatOwnedTheEnvironmentForAWhile() {
        var enforcer = enforcer();
        node.setSnapshot(with(stranger()));
        runCycles(enforcer, 0);
        node.setSnapshot(host().devices(1).with(environmentOfStranger()).with(stranger()));
        runCycles(enforcer, 10);
        node.setSnapshot(with(stranger()));
        runCycles(enforcer, 20, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    /** The environment is taken from its user before the first undisputed observation of the user's job. */
    @Test
    void neverTerminatesAProcessFirstObservedInADisputedEnvironment() {
        var enforcer = enforcer();
        node.setSnapshot(
                host().devices(1).with(env("a").disputed("so").attached(0)).with(ownersProcess()));
        runCycles(enforcer, 0);
        node.setSnapshot(host().devices(1).with(environmentOfStranger()).with(ownersProcess()));
        runCycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    @Test
    void remembersTheOwnersProcessWhileTheEnvironmentIsDisputedForHours() {
        var enforcer = enforcer();
        node.setSnapshot(host().devices(1).with(env("a").attached(0)).with(ownersProcess()));
        runCycles(enforcer, 0);
        node.setSnapshot(host().devices(1)
                .with(env("a").user("attacker").uid(STRANGER).disputed("so").attached(0))
                .with(ownersProcess()));
        runCycles(enforcer, 10, 3600, 7200);
        node.setSnapshot(host().devices(1).with(environmentOfStranger()).with(ownersProcess()));
        runCycles(enforcer, 7210, 7270, 7330);
        assertThat(terminated()).isEmpty();
    }

    /** Also where the process itself was not there yet. */
    @Test
    void neverTerminatesAProcessWhoseUserHadALivePidInTheEnvironment() {
        var enforcer = enforcer();
        node.setSnapshot(host().devices(1).with(environmentOfOwner().pids(7)));
        runCycles(enforcer, 0);
        node.setSnapshot(
                host().devices(1).with(environmentOfStranger().pids(7, 8)).with(ownersProcess()));
        runCycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    /** An environment that appears under a process that names its id may have been written for that. */
    @Test
    void neverTerminatesAProcessThatIsOlderThanTheEnvironment() {
        var enforcer = enforcer();
        node.setTicks(1_000_000).setSnapshot(host().devices(1).with(stranger()));
        runCycles(enforcer, 0);
        node.setTicks(1_001_000).setSnapshot(with(stranger()));
        runCycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    @Test
    void killsAStrangerThatIgnoresSigterm() {
        var enforcer = enforcer();
        node.setSnapshot(with(stranger()));
        runCycles(enforcer, 0, 60, 90);
        assertThat(node.executed)
                .extracting(action -> ((Action.Terminate) action).signal().name())
                .containsExactly("TERM", "KILL");
    }

    private static GpuProcessBuilder stranger() {
        return process(1).inEnvironment("a").uid(STRANGER).uses(0);
    }

    private static GpuProcessBuilder ownersProcess() {
        return process(2).inEnvironment("a").uses(0);
    }

    private static EnvBuilder environmentOfStranger() {
        return env("a").user("attacker").uid(STRANGER).livePidsOf(STRANGER).attached(0);
    }

    private static EnvBuilder environmentOfOwner() {
        return env("a").livePidsOf(1000).attached(0);
    }

    private static HostBuilder with(GpuProcessBuilder... processes) {
        return host().devices(1).with(environmentOfOwner()).with(processes);
    }

    private Enforcer enforcer() {
        var config = EnforcerConfigBuilder.enforcerConfig(node)
                .rules(Map.of(KnownRules.ENV_OWNER, mode), Limits.NONE)
                .safetyLimits(new SafetyLimits(Duration.ZERO, GRACE, Duration.ofSeconds(30), 0))
                .build();
        return new Enforcer(config, new ViolationRegistry(10), time.ticker(), List.of());
    }

    private CycleReport runCycles(Enforcer enforcer, int... seconds) {
        CycleReport last = null;
        for (var each : seconds) {
            time.passTo(Duration.ofSeconds(each));
            last = enforcer.runCycle().orElseThrow();
        }
        return Objects.requireNonNull(last);
    }

    private List<Integer> terminated() {
        return node.executed.stream()
                .map(action -> ((Action.Terminate) action).process().pid())
                .toList();
    }
}
