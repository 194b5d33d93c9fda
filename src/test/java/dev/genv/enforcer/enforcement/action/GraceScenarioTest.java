package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.EnvBuilder;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What users, also hostile ones, do to genv's files and with their processes, and what follows. A cycle every ten seconds. */
class GraceScenarioTest extends GraceFixture {
    private static final long ALICE = 1003;
    private static final long BOB = 1004;
    private static final int FIRST_START = 8768; // ticks from the default start of a process to the first cycle

    private int second;

    @Test
    void jobOfTheFirstIntervalOfItsEnvironmentIsNotShielded() {
        cycle(host());
        var job = started(5, process(1).inEnvironment("a").uses(0));
        cycles(30, host().with(env("a")).with(job));
        assertThat(node.executed).isEmpty();
        cycle(host().with(env("a")).with(job));
        assertThat(executed()).containsExactly("terminate 1");
    }

    /** Somebody adds an entry under the id that a running process names. */
    @Test
    void environmentThatAppearedLaterIsNotUsedAgainstAProcess() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        var job = started(5, process(1).inEnvironment("a").uses(0));
        cycles(20, host().with(job));
        cycles(200, host().with(env("a")).with(job));
        assertThat(node.executed).isEmpty();
        assertThat(outcomes()).containsOnly("skipped_protected");
    }

    /** The kernel's proof of both uids is the same from the first observation on, but who wrote the entry before it is unknown. */
    @Test
    void strangerThatRanBeforeTheServiceIsNeverTerminated() {
        hasObservedBefore = false;
        off.remove(KnownRules.ENV_OWNER);
        var environment = env("a").uid(ALICE).livePidsOf(ALICE).attached(0);
        var older = started(-500, process(1).inEnvironment("a").uid(BOB).uses(0));
        var younger = started(5, process(2).inEnvironment("a").uid(BOB).uses(0));
        cycle(host().with(environment).with(older));
        cycles(200, host().with(environment).with(older, younger));
        assertThat(executed()).containsExactly("terminate 2");
    }

    /** Ids of more than 256 characters are no way out. */
    @Test
    void strangerInAnEnvironmentWithALongIdIsTerminated() {
        off.remove(KnownRules.ENV_OWNER);
        var id = "x".repeat(5000);
        var environment = env(id).uid(ALICE).livePidsOf(ALICE).attached(0);
        cycle(host().with(environment));
        cycles(
                40,
                host().with(environment)
                        .with(started(15, process(1).inEnvironment(id).uid(BOB).uses(0))));
        assertThat(executed()).containsExactly("terminate 1");
    }

    /** A nohup job of an ended environment, and somebody adds the entry again, in anybody's name. */
    @Test
    void revivedEnvironmentIsUsedOnlyAgainstLaterJobs() {
        off.add(KnownRules.INACTIVE_ENV_PROCESSES);
        var job = started(5, process(1).inEnvironment("a").uid(ALICE).uses(0));
        cycles(20, host().with(env("a").uid(ALICE).attached(0)).with(job));
        cycles(50, host().with(job));
        var next = started(75, process(2).inEnvironment("a").uid(ALICE).uses(0));
        cycles(20, host().with(env("a").uid(ALICE)).with(job, next));
        assertThat(node.executed).isEmpty();
        cycles(50, host().with(env("a").uid(ALICE)).with(job, next));
        assertThat(executed()).containsExactly("terminate 2");
    }

    @Test
    void shortJobsInALoopGetOneGracePeriodTogether() {
        cycles(40, () -> {
            var job = started(
                    second - 2,
                    process(100 + second).inEnvironment("a").uid(ALICE).uses(0));
            return host().with(env("a").uid(ALICE)).with(job);
        });
        assertThat(node.executed).hasSize(1);
        cycle(host().with(env("a").uid(ALICE))
                .with(started(
                        second - 2, process(7).inEnvironment("a").uid(ALICE).uses(0))));
        assertThat(executed()).contains("terminate 7");
        cycle(host().with(env("a").uid(ALICE), env("b").uid(BOB))
                .with(started(second - 2, process(8).inEnvironment("b").uid(BOB).uses(0))));
        assertThat(executed()).doesNotContain("terminate 8");
    }

    /** A process can write any id into its own environment variables, and a new process has a new one. */
    @Test
    void randomIdsAreNoWayOut() {
        off.add(KnownRules.NON_ENV_PROCESSES);
        cycles(
                40,
                () -> host().with(started(
                        second - 2,
                        process(100 + second)
                                .inEnvironment("r" + second)
                                .uid(ALICE)
                                .uses(0))));
        assertThat(node.executed).hasSize(1);
    }

    /** The uids of containers' root are many users. */
    @Test
    void processesOfRootHaveNoCommonClock() {
        cycles(
                100,
                () -> host().with(env("a").uid(0))
                        .with(started(
                                second - 2,
                                process(100 + second).inEnvironment("a").uid(0).uses(0))));
        assertThat(node.executed).isEmpty();
    }

    @Test
    void longRunningProcessThatBeginsToBreakARuleHasItsOwnGracePeriod() {
        var other = started(-60, process(1).inEnvironment("a").uid(ALICE).uses(1));
        var job = started(-60, process(2).inEnvironment("a").uid(ALICE).uses(0));
        cycles(40, host().with(env("a").uid(ALICE).attached(0)).with(other, job));
        assertThat(executed()).containsExactly("terminate 1");
        cycle(host().with(env("a").uid(ALICE)).with(job));
        cycle(host().with(env("a").uid(ALICE)).with(job));
        assertThat(executed()).containsExactly("terminate 1");
    }

    @Test
    void laterProcessThatIsNotYoungHasItsOwnGracePeriod() {
        cycles(
                100,
                () -> host().with(env("a").uid(ALICE))
                        .with(started(
                                second - 2,
                                process(100 + second)
                                        .inEnvironment("a")
                                        .uid(ALICE)
                                        .uses(0))));
        cycle(host().with(env("a").uid(ALICE))
                .with(started(
                        second - 35, process(7).inEnvironment("a").uid(ALICE).uses(0))));
        assertThat(executed()).doesNotContain("terminate 7");
    }

    @Test
    void timesOfABrokenRuleAddUp() {
        var job = started(-60, process(1).inEnvironment("a").uses(0));
        for (var turn = 0; turn < 3; turn++) {
            cycle(host().with(env("a")).with(job));
            cycles(90, host().with(env("a").attached(0)).with(job));
        }
        assertThat(node.executed).isEmpty();
        cycle(host().with(env("a")).with(job));
        assertThat(executed()).containsExactly("terminate 1");
    }

    @Test
    void victimsOfMemoryThatAlternateShareTheTime() {
        var environment = env("a").capacity("1000mi").attached(0);
        for (var turn = 0; turn < 3; turn++) {
            var pid = 10 + turn;
            cycle(host().with(environment)
                    .with(
                            process(1).inEnvironment("a").uses(0, "900mi"),
                            process(pid).inEnvironment("a").uses(0, "500mi")));
        }
        assertThat(node.executed).isEmpty();
        cycle(host().with(environment)
                .with(
                        process(1).inEnvironment("a").uses(0, "900mi"),
                        process(13).inEnvironment("a").uses(0, "500mi")));
        assertThat(executed()).containsExactly("terminate 13");
    }

    /** The owner of the forged entry needs not be known: it is younger, so it goes. */
    @Test
    void forgedHoldingsGoFirstHoweverOftenTheyAreAdded() {
        limits = new Limits(1, Map.of());
        var own = env("a").user("alice").uid(ALICE).livePidsOf(ALICE).attached(0);
        cycle(host().with(own));
        for (var turn = 0; turn < 12; turn++) {
            cycle(host().with(own, forged("f" + turn)));
        }
        assertThat(executed()).isNotEmpty().allMatch(action -> action.startsWith("detach f"));
    }

    /** An old entry of the attacker becomes the victim's, with the oldest recorded time. */
    @Test
    void entryThatBecomesAnotherUsersIsNewInTheQuota() {
        limits = new Limits(1, Map.of());
        var own = env("a").user("alice").uid(ALICE).attachedAt("20/11/2026 09:22:28", 0);
        cycle(host().with(own, env("m").user("mal").uid(BOB).attachedAt("01/01/2020 00:00:00", 1)));
        cycles(40, host().with(own, env("m").user("alice").uid(ALICE).attachedAt("01/01/2020 00:00:00", 1)));
        assertThat(executed()).containsOnly("detach m");
    }

    /** Otherwise a user who is over the quota for long would lose a new device at once because of a forged entry. */
    @Test
    void eachDeviceOfAQuotaHasItsOwnGracePeriod() {
        limits = new Limits(1, Map.of());
        var proven = started(-60, process(1).inEnvironment("a").uid(ALICE).uses(0));
        var undecided = List.of(
                env("a").user("alice").uid(ALICE).livePidsOf(ALICE).attached(0),
                env("b").user("alice").uid(ALICE).livePidsOf(ALICE).attached(1));
        cycles(20, host().with(undecided.toArray(EnvBuilder[]::new)).with(proven));
        var more = env("c").user("alice").uid(ALICE).livePidsOf(ALICE).attached(2);
        cycle(host().with(undecided.get(0), undecided.get(1), more).with(proven));
        assertThat(node.executed).isEmpty();
        cycle(host().with(undecided.get(0), undecided.get(1), more).with(proven));
        assertThat(executed()).containsExactly("detach b");
    }

    /** The process got SIGTERM without a grace period of its own; it needs none for SIGKILL either. */
    @Test
    void youngProcessThatWasSignalledIsKilledInTime() {
        safetyLimits = new SafetyLimits(GRACE, Duration.ofSeconds(30), 0);
        cycles(
                40,
                () -> host().with(env("a").uid(ALICE))
                        .with(started(
                                second - 2,
                                process(100 + second)
                                        .inEnvironment("a")
                                        .uid(ALICE)
                                        .uses(0))));
        var job = started(second - 2, process(7).inEnvironment("a").uid(ALICE).uses(0));
        cycles(40, host().with(env("a").uid(ALICE)).with(job));
        assertThat(node.executed.stream()
                        .filter(Action.Terminate.class::isInstance)
                        .map(Action.Terminate.class::cast)
                        .filter(action -> action.process().pid() == 7)
                        .map(action -> action.signal().name()))
                .containsExactly("TERM", "KILL");
    }

    private static EnvBuilder forged(String id) {
        return env(id).user("alice").uid(ALICE).livePidsOf(ALICE).attachedAt("01/01/2020 00:00:00", 1);
    }

    private static HostBuilder host() {
        return HostBuilder.host().devices(3);
    }

    /** A process that was started at this second. */
    private static GpuProcessBuilder started(int at, GpuProcessBuilder process) {
        return process.startedLaterBy(FIRST_START + 100L * at);
    }

    private void cycle(HostBuilder now) {
        node.setTicks(1_000_000 + 100L * second);
        observe(at(second), now);
        second += 10;
    }

    private void cycles(int seconds, HostBuilder now) {
        cycles(seconds, () -> now);
    }

    private void cycles(int seconds, java.util.function.Supplier<HostBuilder> now) {
        for (var end = second + seconds; second < end; ) {
            cycle(now.get());
        }
    }

    private List<String> executed() {
        return node.executed.stream()
                .map(action -> switch (action) {
                    case Action.Terminate terminate ->
                        "terminate " + terminate.process().pid();
                    case Action.Detach detach ->
                        "detach " + detach.environment().eid();
                })
                .toList();
    }
}
