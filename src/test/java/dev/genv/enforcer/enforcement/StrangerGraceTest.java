package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
import dev.genv.enforcer.testsupport.EnvBuilder;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.FakeTime;
import dev.genv.enforcer.testsupport.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.HostBuilder;
import dev.genv.enforcer.testsupport.SetupBuilder;
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
    private final FakeHost node = new FakeHost(host()).at(900_000);

    private RuleMode mode = RuleMode.ENFORCE;

    @Test
    void terminatesAStrangerAfterTheGrace() {
        var enforcer = enforcer();
        node.shows(with(stranger()));
        cycles(enforcer, 0, 30, 59);
        assertThat(terminated()).isEmpty();

        cycles(enforcer, 60);
        assertThat(terminated()).containsExactly(1);
    }

    @Test
    void doesNotTerminateInAudit() {
        mode = RuleMode.AUDIT;
        node.shows(with(stranger()));
        var report = cycles(enforcer(), 0, 60, 120);

        assertThat(terminated()).isEmpty();
        assertThat(report.actions())
                .extracting(record -> record.result().outcome())
                .containsExactly(Outcome.SKIPPED_AUDIT);
    }

    @Test
    void doesNotTerminateAnExemptProcess() {
        node.shows(with(stranger().immune(Immunity.Kind.EXEMPT, "so")));
        cycles(enforcer(), 0, 60, 120);
        assertThat(terminated()).isEmpty();
    }

    @Test
    void countsOnlyTheTimeInWhichItWasAStranger() {
        var enforcer = enforcer();
        for (var seconds = 0; seconds < 60; seconds += 20) {
            node.shows(with(stranger()));
            cycles(enforcer, seconds);
            node.shows(with());
            cycles(enforcer, seconds + 10);
        }
        node.shows(with(stranger()));
        cycles(enforcer, 60, 89);
        assertThat(terminated()).isEmpty();

        cycles(enforcer, 90);
        assertThat(terminated()).containsExactly(1);
    }

    @Test
    void neverTerminatesWhereTheEnvironmentIsDisputed() {
        var enforcer = enforcer();
        node.shows(with(stranger()));
        cycles(enforcer, 0, 50);
        node.shows(host().devices(1)
                .with(ofRaz().disputed("its pids are of uids 1000, 1007"))
                .with(stranger()));
        cycles(enforcer, 60, 120, 180);
        assertThat(terminated()).isEmpty();
    }

    /** Somebody writes the environment anew with his own uid and his own pid: its user's job looks like a stranger's. */
    @Test
    void neverTerminatesAProcessWhoseUserHadTheEnvironment() {
        var enforcer = enforcer();
        node.shows(with(process(2).in("a").uses(0)));
        cycles(enforcer, 0);
        node.shows(host().devices(1)
                .with(env("a").user("mallory")
                        .uid(STRANGER)
                        .livePidsOf(STRANGER)
                        .attached(0))
                .with(process(2).in("a").uses(0)));
        var report = cycles(enforcer, 10, 70, 3600, 7100, 10_600);

        assertThat(terminated()).isEmpty();
        assertThat(report.lines()).anyMatch(line -> line.contains("a process of its user was in environment a before"));
    }

    /** As in a container with a user namespace. */
    @Test
    void neverTerminatesAProcessOfASubordinateUidWhoseUserHadTheEnvironment() {
        var enforcer = enforcer();
        var job = process(2).in("a").uid(165_536).uses(0);
        node.shows(with(job).subordinate(1000, 165_536, 65_536));
        cycles(enforcer, 0);
        node.shows(host().devices(1)
                .subordinate(1000, 165_536, 65_536)
                .with(ofMallory())
                .with(job));
        cycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    /** Whether a user was written out of the environment or into it, the kernel does not tell. */
    @Test
    void neverTerminatesAStrangerThatWasOnceWrittenIntoTheEnvironment() {
        var enforcer = enforcer();
        node.shows(with(stranger()));
        cycles(enforcer, 0);
        node.shows(host().devices(1).with(ofMallory()).with(stranger()));
        cycles(enforcer, 10);
        node.shows(with(stranger()));
        cycles(enforcer, 20, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    /** The environment is taken from its user before the first undisputed observation of his job. */
    @Test
    void neverTerminatesAProcessThatWasFirstSeenInADisputedEnvironmentOfItsUser() {
        var enforcer = enforcer();
        node.shows(host().devices(1).with(env("a").disputed("so").attached(0)).with(ofTheOwner()));
        cycles(enforcer, 0);
        node.shows(host().devices(1).with(ofMallory()).with(ofTheOwner()));
        cycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    @Test
    void remembersTheOwnersProcessWhileTheEnvironmentIsDisputedForHours() {
        var enforcer = enforcer();
        node.shows(host().devices(1).with(env("a").attached(0)).with(ofTheOwner()));
        cycles(enforcer, 0);
        node.shows(host().devices(1)
                .with(env("a").user("mallory").uid(STRANGER).disputed("so").attached(0))
                .with(ofTheOwner()));
        cycles(enforcer, 10, 3600, 7200);
        node.shows(host().devices(1).with(ofMallory()).with(ofTheOwner()));
        cycles(enforcer, 7210, 7270, 7330);
        assertThat(terminated()).isEmpty();
    }

    /** Also where the process itself was not there yet. */
    @Test
    void neverTerminatesAProcessWhoseUserHadALivePidInTheEnvironment() {
        var enforcer = enforcer();
        node.shows(host().devices(1).with(ofRaz().pids(7)));
        cycles(enforcer, 0);
        node.shows(host().devices(1).with(ofMallory().pids(7, 8)).with(ofTheOwner()));
        cycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    /** An environment that appears under a process that names its id may have been written for that. */
    @Test
    void neverTerminatesAProcessThatIsOlderThanTheEnvironment() {
        var enforcer = enforcer();
        node.at(1_000_000).shows(host().devices(1).with(stranger()));
        cycles(enforcer, 0);
        node.at(1_001_000).shows(with(stranger()));
        cycles(enforcer, 10, 70, 130);
        assertThat(terminated()).isEmpty();
    }

    @Test
    void killsAStrangerThatIgnoresSigterm() {
        var enforcer = enforcer();
        node.shows(with(stranger()));
        cycles(enforcer, 0, 60, 90);
        assertThat(node.performed)
                .extracting(action -> ((Action.Terminate) action).signal().name())
                .containsExactly("TERM", "KILL");
    }

    private static GpuProcessBuilder stranger() {
        return process(1).in("a").uid(STRANGER).uses(0);
    }

    private static GpuProcessBuilder ofTheOwner() {
        return process(2).in("a").uses(0);
    }

    private static EnvBuilder ofMallory() {
        return env("a").user("mallory").uid(STRANGER).livePidsOf(STRANGER).attached(0);
    }

    private static EnvBuilder ofRaz() {
        return env("a").livePidsOf(1000).attached(0);
    }

    private static HostBuilder with(GpuProcessBuilder... processes) {
        return host().devices(1).with(ofRaz()).with(processes);
    }

    private Enforcer enforcer() {
        var setup = SetupBuilder.setup(node)
                .rules(Map.of(RuleName.ENV_OWNER, mode), DeviceLimits.NONE)
                .restraint(new Restraint(Duration.ZERO, GRACE, Duration.ofSeconds(30), 0))
                .build();
        return new Enforcer(setup, new Journal(10), time.ticker(), List.of());
    }

    private CycleReport cycles(Enforcer enforcer, int... seconds) {
        CycleReport last = null;
        for (var each : seconds) {
            time.passTo(Duration.ofSeconds(each));
            last = enforcer.runCycle().orElseThrow();
        }
        return Objects.requireNonNull(last);
    }

    private List<Integer> terminated() {
        return node.performed.stream()
                .map(action -> ((Action.Terminate) action).process().pid())
                .toList();
    }
}
