package dev.genv.enforcer.enforcement.action;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleResult;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.host.Host;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.journal.Journal;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import dev.genv.enforcer.testsupport.FakeHost;
import dev.genv.enforcer.testsupport.FakeTime;
import dev.genv.enforcer.testsupport.HostBuilder;
import dev.genv.enforcer.testsupport.SetupBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What becomes of a process that was asked to end. */
class KillEscalationTest {
    private static final Duration KILL_AFTER = Duration.ofSeconds(30);

    private final FakeTime time = new FakeTime();
    private final Journal journal = new Journal(10);
    private final FakeHost node = new FakeHost(stray());
    private final List<Host> hosts = new ArrayList<>(List.of(node));
    private Enforcer enforcer = killingAfter(KILL_AFTER);

    @Test
    void killsOnceWhenTheViolationPersists() {
        runCycles(0, 10, 20);
        assertThat(signals()).containsExactly("1 TERM");

        runCycles(30, 40, 50);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
        assertThat(outcomes()).startsWith("TERM signalled", "KILL signalled");
    }

    @Test
    void neverKillsWhenKillingIsDisabled() {
        enforcer = killingAfter(null);

        runCycles(0, 30, 60, 3600);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void reportsThatTheProcessHasExited() {
        runCycles(0);
        node.setSnapshot(empty()).setExited(id("here", 1).id());

        var report = runCycles(10);

        assertThat(report.lines()).contains("Process 1 has ended");
        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
        assertThat(journal.find(entry -> true, 1).getFirst().active()).isFalse();
    }

    /** It lets go of the device first and writes its checkpoint then. */
    @Test
    void reportsExitAfterTheViolationWasResolved() {
        runCycles(0);
        node.setSnapshot(empty());
        runCycles(10);
        node.setExited(id("here", 1).id());
        runCycles(20);

        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
    }

    @Test
    void reportsProcessThatSurvivesSigkill() {
        runCycles(0, 30);
        assertThat(runCycles(39).result()).isEqualTo(CycleResult.SUCCESS);

        assertThat(runCycles(40).result()).isEqualTo(CycleResult.ACTION_FAILED);
        assertThat(runCycles(50).result()).isEqualTo(CycleResult.ACTION_FAILED);

        assertThat(outcomes())
                .as("once: a repetition is no news")
                .containsExactly("TERM signalled", "KILL signalled", "KILL unkillable");
    }

    /** A kernel that forbids it today may allow it tomorrow. */
    @Test
    void retriesDeniedSigkill() {
        runCycles(0);
        node.answerWith(_ -> Result.of(Outcome.DENIED));
        runCycles(30, 40);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL", "1 KILL");
    }

    /** The connection was cut before the answer came: it may have been asked, or not. */
    @Test
    void possiblySentSigtermIsRepeatedAfterTheDelayBeforeSigkill() {
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycles(0);
        node.answerWith(action -> Result.of(Outcome.SIGNALLED));
        runCycles(10, 20);
        assertThat(signals()).as("a second one makes many a trainer abort").containsExactly("1 TERM");

        runCycles(30, 40, 50);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
        runCycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM", "1 KILL");
        assertThat(outcomes()).startsWith("TERM failed", "TERM signalled", "KILL signalled");
    }

    /** A list of hosts may be wrong for a while: that must not make it a second signal. */
    @Test
    void pendingProcessIsRememberedWhileItsHostIsNotListed() {
        runCycles(0);
        hosts.clear();
        runCycles(10, 1000);
        hosts.add(node);
        runCycles(1010);
        assertThat(signals()).containsExactly("1 TERM");

        hosts.clear();
        runCycles(5000);
        hosts.add(node);
        runCycles(5010);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    @Test
    void reportsExitAfterPossiblySentSigterm() {
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycles(0);
        node.setSnapshot(empty()).setExited(id("here", 1).id());

        assertThat(runCycles(10).lines()).contains("Process 1 has ended");
    }

    @Test
    void possiblySentSigtermIsRepeatedWhenKillingIsDisabled() {
        enforcer = killingAfter(null);
        node.answerWith(_ -> Result.lost("the connection was lost"));
        runCycles(0, 30);
        assertThat(signals()).hasSize(1);
        runCycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    @Test
    void compliantProcessIsNotKilled() {
        runCycles(0);
        node.setSnapshot(empty());

        runCycles(10, 20, 30, 40, 50, 60, 120);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void sendsSigtermAgainAfterAMinuteOfCompliance() {
        runCycles(0);
        node.setSnapshot(empty());
        runCycles(10, 20, 70);
        node.setSnapshot(stray());

        runCycles(80);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
        runCycles(109);
        assertThat(signals()).hasSize(2);
        runCycles(110);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM", "1 KILL");
    }

    @Test
    void killsAProcessThatBreaksTheRuleOnlyInEverySecondObservation() {
        for (var seconds = 0; seconds < 60; seconds += 20) {
            node.setSnapshot(stray());
            runCycles(seconds);
            node.setSnapshot(empty());
            runCycles(seconds + 10);
        }
        assertThat(signals()).as("it broke the rule for 3 × 10 s").containsExactly("1 TERM");
        node.setSnapshot(stray());
        runCycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** When it stopped in a long time between two observations is not known. */
    @Test
    void longIntervalEndingInComplianceCountsForHalfTheKillDelay() {
        runCycles(0);
        node.setSnapshot(empty());
        runCycles(3600);
        node.setSnapshot(stray());
        runCycles(3650, 3664);
        assertThat(signals()).containsExactly("1 TERM");
        runCycles(3665);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void killDelayContinuesWithinTheCompliancePeriod() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, KILL_AFTER, Duration.ofMinutes(10), 0));
        runCycles(0, 10);
        node.setSnapshot(empty());
        runCycles(20, 619);
        node.setSnapshot(stray());
        runCycles(629);
        assertThat(signals()).containsExactly("1 TERM");
        runCycles(639);
        assertThat(signals()).as("30 s in all").containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void sendsSigtermAgainAfterTheCompliancePeriod() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, KILL_AFTER, Duration.ofMinutes(10), 0));
        runCycles(0, 10);
        node.setSnapshot(empty());
        runCycles(20, 620);
        node.setSnapshot(stray());
        runCycles(630);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    /** A short absence is neither forgiven, which would give a second SIGTERM, nor counted as disobedience. */
    @Test
    void compliantTimeDoesNotCountTowardsTheKillDelay() {
        runCycles(0, 10);
        node.setSnapshot(empty());
        runCycles(20, 60);
        node.setSnapshot(stray());

        runCycles(70, 79);
        assertThat(signals()).containsExactly("1 TERM");
        runCycles(80);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void unobservedTimeCountsForAtMostHalfTheKillDelay() {
        runCycles(0);
        node.setSnapshot(host().missing(SnapshotPart.PROCESSES));
        runCycles(10, 30, 90);
        assertThat(signals()).containsExactly("1 TERM");
        node.setSnapshot(stray());

        runCycles(100, 114);
        assertThat(signals()).as("half of its time went by unseen").containsExactly("1 TERM");

        runCycles(115);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void newProcessWithTheSamePidGetsSigtermFirst() {
        runCycles(0);
        node.setSnapshot(host().devices(1).with(process(1).startedLaterBy(5).uses(0)));

        runCycles(30);

        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    /** While its memory counts as freed the rule plans no more victims; but it is still there, and over the capacity. */
    @Test
    void onlyTheMemoryVictimIsKilled() {
        node.setSnapshot(full());
        runCycles(0, 10, 20);
        assertThat(signals()).containsExactly("1 TERM");

        runCycles(30, 39);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** It gave back what it had, and another one took it: to kill it would free nothing. */
    @Test
    void memoryVictimIsNotKilledWhenItsUsageDrops() {
        node.setSnapshot(full());
        runCycles(0, 10, 20);
        node.setSnapshot(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "10mi"),
                        process(2).inEnvironment("a").uses(0, "1100mi")));

        runCycles(30, 39);

        assertThat(signals()).doesNotContain("1 KILL");
    }

    /** A lost device leaves every observation incomplete for good. */
    @Test
    void forgetsCompliantProcessWhileAnotherIsUnobserved() {
        node.setSnapshot(full());
        runCycles(0);
        node.setSnapshot(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uses(0, "10mi"))
                .missing(SnapshotPart.EVERY_PROCESS));
        runCycles(10, 70, 80);
        node.setSnapshot(full());
        runCycles(90, 100);

        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    @Test
    void memoryVictimIsNotKilledWhenTheCapacitySuffices() {
        node.setSnapshot(full());
        runCycles(0);
        node.setSnapshot(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).inEnvironment("a").uses(0, "600mi")));

        runCycles(10, 30, 40);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void subordinateUidsShareTheirUsersPartOfTheBrake() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 2));
        node.setSnapshot(host().devices(1)
                .subordinate(1001, 200_000, 65_536)
                .with(
                        process(1).uid(200_000).uses(0),
                        process(2).uid(200_001).uses(0),
                        process(3).uid(200_002).uses(0),
                        process(4).uid(1002).uses(0)));

        runCycles(0);
        assertThat(signals()).containsExactly("1 TERM", "4 TERM");
    }

    @Test
    void terminatesAtMostTheConfiguredNumberPerCycle() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 2));
        node.setSnapshot(host().devices(1)
                .with(
                        process(1).uses(0),
                        process(2).uses(0),
                        process(3).uses(0),
                        process(4).uses(0),
                        process(5).uses(0)));

        var report = runCycles(0);
        assertThat(signals()).containsExactly("1 TERM", "2 TERM");
        assertThat(report.lines())
                .filteredOn(line -> line.contains("(skipped_limit: the limit of 2 terminations in one cycle"))
                .hasSize(3);
        assertThat(report.hosts().getFirst().problems()).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.TERMINATION_LIMIT_REACHED);
            assertThat(problem.detail()).contains("5 processes", "3 wait");
        });

        runCycles(10);
        assertThat(signals()).containsExactly("1 TERM", "2 TERM", "3 TERM", "4 TERM");
        assertThat(runCycles(20).hosts().getFirst().problems()).isEmpty();
        assertThat(signals()).hasSize(5).last().isEqualTo("5 TERM");
    }

    /** A process cannot avoid its termination by other processes of the user that start and exit. */
    @Test
    void signalsLongestWaitingProcessFirst() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 1));
        node.setSnapshot(host().devices(1).with(process(1).uses(0), process(9).uses(0)));
        runCycles(0);
        node.setSnapshot(host().devices(1).with(process(2).uses(0), process(9).uses(0)));
        runCycles(10);

        assertThat(signals()).containsExactly("1 TERM", "9 TERM");
    }

    @Test
    void deniedSignalDoesNotDelayOthers() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 1));
        node.answerWith(action ->
                Result.of(((Action.Terminate) action).process().pid() == 1 ? Outcome.DENIED : Outcome.SIGNALLED));
        node.setSnapshot(host().devices(1).with(process(1).uses(0), process(9).uses(0)));

        runCycles(0, 10, 20);

        assertThat(signals()).containsExactly("1 TERM", "9 TERM", "1 TERM");
    }

    @Test
    void repeatedlyDeniedSignalsDoNotDelayOthers() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 1));
        node.answerWith(action ->
                Result.of(((Action.Terminate) action).process().pid() < 9 ? Outcome.DENIED : Outcome.SIGNALLED));
        node.setSnapshot(host().devices(1)
                .with(
                        process(1).uses(0),
                        process(2).uses(0),
                        process(3).uses(0),
                        process(9).uses(0)));

        runCycles(0, 10, 20, 30);

        assertThat(signals()).containsExactly("1 TERM", "2 TERM", "3 TERM", "9 TERM");
    }

    /** However old the violation is that they break: each of them waits for himself. */
    @Test
    void newProcessesOfAnOldViolationWaitTheirTurn() {
        enforcer = enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 1));
        var environment = env("a").capacity("1mi").attached(0);
        node.setSnapshot(host().devices(1)
                .with(environment)
                .with(process(1).inEnvironment("a").uses(0)));
        runCycles(0);
        node.setSnapshot(host().devices(1)
                .with(environment)
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).inEnvironment("a").uses(0),
                        process(9).uses(0)));
        runCycles(10);
        node.setSnapshot(host().devices(1)
                .with(environment)
                .with(
                        process(1).inEnvironment("a").uses(0),
                        process(2).inEnvironment("a").uses(0),
                        process(3).inEnvironment("a").uses(0),
                        process(9).uses(0)));
        runCycles(20);

        assertThat(signals()).hasSize(3).contains("9 TERM");
    }

    @Test
    void executesNothingOnReadOnlyHost() {
        node.readOnly("another enforcer acts here");

        var report = runCycles(0);

        assertThat(node.executed).isEmpty();
        assertThat(report.lines()).last().asString().endsWith("(skipped_audit: another enforcer acts here)");
    }

    private CycleReport runCycles(int... seconds) {
        CycleReport last = null;
        for (var second : seconds) {
            time.passTo(Duration.ofSeconds(second));
            last = enforcer.runCycle().orElseThrow();
        }
        assertThat(last).isNotNull();
        return last;
    }

    private List<String> signals() {
        return node.executed.stream()
                .map(Action.Terminate.class::cast)
                .map(action -> action.process().pid() + " " + action.signal())
                .toList();
    }

    private List<String> outcomes() {
        return journal.find(entry -> true, 10).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.signal() + " " + note.outcome().label())
                .toList();
    }

    private static HostBuilder stray() {
        return host().devices(1).with(process(1).uses(0));
    }

    private static HostBuilder empty() {
        return host().devices(1);
    }

    private static HostBuilder full() {
        return host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(
                        process(1).inEnvironment("a").uses(0, "600mi"),
                        process(2).inEnvironment("a").uses(0, "700mi"));
    }

    private Enforcer killingAfter(@Nullable Duration killAfter) {
        return enforcer(new SafetyLimits(Duration.ZERO, Duration.ZERO, killAfter, 0));
    }

    private Enforcer enforcer(SafetyLimits safetyLimits) {
        var modes = Map.of(RuleName.NON_ENV_PROCESSES, RuleMode.ENFORCE, RuleName.ENV_MEMORY, RuleMode.ENFORCE);
        var setup = SetupBuilder.setup(() -> List.copyOf(hosts))
                .rules(modes, DeviceLimits.NONE)
                .restraint(safetyLimits)
                .build();
        return new Enforcer(setup, journal, time.ticker(), List.of());
    }
}
