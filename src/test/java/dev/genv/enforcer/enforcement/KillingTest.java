package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.id;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.DeviceLimits;
import dev.genv.enforcer.policy.RuleMode;
import dev.genv.enforcer.policy.RuleName;
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
class KillingTest {
    private static final Duration KILL_AFTER = Duration.ofSeconds(30);

    private final FakeTime time = new FakeTime();
    private final Journal journal = new Journal(10);
    private final FakeHost node = new FakeHost(stray());
    private final List<Host> hosts = new ArrayList<>(List.of(node));
    private Enforcer enforcer = killingAfter(KILL_AFTER);

    @Test
    void whoeverStillBreaksARuleIsKilledOnce() {
        cycles(0, 10, 20);
        assertThat(signals()).containsExactly("1 TERM");

        cycles(30, 40, 50);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
        assertThat(outcomes()).startsWith("TERM signalled", "KILL signalled");
    }

    @Test
    void nobodyIsKilledWhereItIsNeverToBe() {
        enforcer = killingAfter(null);

        cycles(0, 30, 60, 3600);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void itIsToldThatAProcessHasEnded() {
        cycles(0);
        node.shows(empty()).ends(id("here", 1).id());

        var report = cycles(10);

        assertThat(report.lines()).contains("Process 1 has ended");
        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
        assertThat(journal.find(entry -> true, 1).getFirst().active()).isFalse();
    }

    /** It lets go of the device first and writes its checkpoint then. */
    @Test
    void itIsToldAlsoWhenTheViolationWasOverBefore() {
        cycles(0);
        node.shows(empty());
        cycles(10);
        node.ends(id("here", 1).id());
        cycles(20);

        assertThat(outcomes()).containsExactly("TERM signalled", "TERM exited");
    }

    @Test
    void whoSurvivesBeingKilledIsReported() {
        cycles(0, 30);
        assertThat(cycles(39).result()).isEqualTo(CycleResult.SUCCESS);

        assertThat(cycles(40).result()).isEqualTo(CycleResult.ACTION_FAILED);
        assertThat(cycles(50).result()).isEqualTo(CycleResult.ACTION_FAILED);

        assertThat(outcomes())
                .as("once: a repetition is no news")
                .containsExactly("TERM signalled", "KILL signalled", "KILL unkillable");
    }

    /** A kernel that forbids it today may allow it tomorrow. */
    @Test
    void aKillThatIsDeniedIsTriedAgain() {
        cycles(0);
        node.answers(_ -> Result.of(Outcome.DENIED));
        cycles(30, 40);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL", "1 KILL");
    }

    /** The connection was cut before the answer came: it may have been asked, or not. */
    @Test
    void whoMayHaveBeenAskedIsNeitherAskedAtOnceNorKilledButAskedAgainInTheEnd() {
        node.answers(_ -> Result.lost("the connection was lost"));
        cycles(0);
        node.answers(action -> Result.of(Outcome.SIGNALLED));
        cycles(10, 20);
        assertThat(signals()).as("a second one makes many a trainer abort").containsExactly("1 TERM");

        cycles(30, 40, 50);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
        cycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM", "1 KILL");
        assertThat(outcomes()).startsWith("TERM failed", "TERM signalled", "KILL signalled");
    }

    /** A list of hosts may be wrong for a while: that must not make it a second signal. */
    @Test
    void whoWasAskedIsRememberedWhileHisHostIsNotInTheList() {
        cycles(0);
        hosts.clear();
        cycles(10, 1000);
        hosts.add(node);
        cycles(1010);
        assertThat(signals()).containsExactly("1 TERM");

        hosts.clear();
        cycles(5000);
        hosts.add(node);
        cycles(5010);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    @Test
    void whoMayHaveBeenAskedAndEndsIsToldAsEnded() {
        node.answers(_ -> Result.lost("the connection was lost"));
        cycles(0);
        node.shows(empty()).ends(id("here", 1).id());

        assertThat(cycles(10).lines()).contains("Process 1 has ended");
    }

    @Test
    void whoMayHaveBeenAskedIsAskedAgainAlsoWhereNobodyIsEverKilled() {
        enforcer = killingAfter(null);
        node.answers(_ -> Result.lost("the connection was lost"));
        cycles(0, 30);
        assertThat(signals()).hasSize(1);
        cycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    @Test
    void whoBehavesIsNotKilled() {
        cycles(0);
        node.shows(empty());

        cycles(10, 20, 30, 40, 50, 60, 120);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void whoBehavedForAMinuteIsAskedAgainFirst() {
        cycles(0);
        node.shows(empty());
        cycles(10, 20, 70);
        node.shows(stray());

        cycles(80);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
        cycles(109);
        assertThat(signals()).hasSize(2);
        cycles(110);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM", "1 KILL");
    }

    @Test
    void killsAProcessThatBreaksTheRuleOnlyInEverySecondObservation() {
        for (var seconds = 0; seconds < 60; seconds += 20) {
            node.shows(stray());
            cycles(seconds);
            node.shows(empty());
            cycles(seconds + 10);
        }
        assertThat(signals()).as("it broke the rule for 3 × 10 s").containsExactly("1 TERM");
        node.shows(stray());
        cycles(60);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** When it stopped in a long time between two observations is not known. */
    @Test
    void countsHalfOfTheTimeUntilSigkillWhereItCompliesOnlyAtTheEndOfALongInterval() {
        cycles(0);
        node.shows(empty());
        cycles(3600);
        node.shows(stray());
        cycles(3650, 3664);
        assertThat(signals()).containsExactly("1 TERM");
        cycles(3665);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void isNoNewCaseBeforeTheCompliancePeriodEnds() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, KILL_AFTER, Duration.ofMinutes(10), 0));
        cycles(0, 10);
        node.shows(empty());
        cycles(20, 619);
        node.shows(stray());
        cycles(629);
        assertThat(signals()).containsExactly("1 TERM");
        cycles(639);
        assertThat(signals()).as("30 s in all").containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void sendsSigtermAgainAfterTheCompliancePeriod() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, KILL_AFTER, Duration.ofMinutes(10), 0));
        cycles(0, 10);
        node.shows(empty());
        cycles(20, 620);
        node.shows(stray());
        cycles(630);
        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    /** A short absence is neither forgiven, which would give a second SIGTERM, nor counted as disobedience. */
    @Test
    void theTimeInWhichItWasSeenToBehaveDoesNotCount() {
        cycles(0, 10);
        node.shows(empty());
        cycles(20, 60);
        node.shows(stray());

        cycles(70, 79);
        assertThat(signals()).containsExactly("1 TERM");
        cycles(80);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void whatCannotBeSeenIsNoGoodBehaviourAndNoDisobedience() {
        cycles(0);
        node.shows(host().without(Part.PROCESSES));
        cycles(10, 30, 90);
        assertThat(signals()).containsExactly("1 TERM");
        node.shows(stray());

        cycles(100, 114);
        assertThat(signals()).as("half of its time went by unseen").containsExactly("1 TERM");

        cycles(115);
        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    @Test
    void theNextOneWithThePidIsAskedAfresh() {
        cycles(0);
        node.shows(host().devices(1).with(process(1).later(5).uses(0)));

        cycles(30);

        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    /** While its memory counts as freed the rule plans no more victims; but it is still there, and over the capacity. */
    @Test
    void aVictimForMemoryIsKilledInTimeAndNobodyElseIs() {
        node.shows(full());
        cycles(0, 10, 20);
        assertThat(signals()).containsExactly("1 TERM");

        cycles(30, 39);

        assertThat(signals()).containsExactly("1 TERM", "1 KILL");
    }

    /** It gave back what it had, and another one took it: to kill it would free nothing. */
    @Test
    void aVictimForMemoryIsSparedWhenItMattersNoMore() {
        node.shows(full());
        cycles(0, 10, 20);
        node.shows(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).in("a").uses(0, "10mi"), process(2).in("a").uses(0, "1100mi")));

        cycles(30, 39);

        assertThat(signals()).doesNotContain("1 KILL");
    }

    /** A lost device leaves every observation incomplete for good. */
    @Test
    void forgetsAProcessThatCompliesAlsoWhereAnotherOneCannotBeObserved() {
        node.shows(full());
        cycles(0);
        node.shows(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).in("a").uses(0, "10mi"))
                .without(Part.EVERY_PROCESS));
        cycles(10, 70, 80);
        node.shows(full());
        cycles(90, 100);

        assertThat(signals()).containsExactly("1 TERM", "1 TERM");
    }

    @Test
    void aVictimForMemoryIsSparedWhenThereIsRoomAgain() {
        node.shows(full());
        cycles(0);
        node.shows(host().devices(1)
                .with(env("a").capacity("1000mi").attached(0))
                .with(process(1).in("a").uses(0, "600mi")));

        cycles(10, 30, 40);

        assertThat(signals()).containsExactly("1 TERM");
    }

    @Test
    void subordinateUidsShareTheirUsersPartOfTheBrake() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, null, 2));
        node.shows(host().devices(1)
                .subordinate(1001, 200_000, 65_536)
                .with(
                        process(1).uid(200_000).uses(0),
                        process(2).uid(200_001).uses(0),
                        process(3).uid(200_002).uses(0),
                        process(4).uid(1002).uses(0)));

        cycles(0);
        assertThat(signals()).containsExactly("1 TERM", "4 TERM");
    }

    @Test
    void theBrakeHoldsTheRestBackUntilTheNextCycle() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, null, 2));
        node.shows(host().devices(1)
                .with(
                        process(1).uses(0),
                        process(2).uses(0),
                        process(3).uses(0),
                        process(4).uses(0),
                        process(5).uses(0)));

        var report = cycles(0);
        assertThat(signals()).containsExactly("1 TERM", "2 TERM");
        assertThat(report.lines())
                .filteredOn(line -> line.contains("(skipped_limit: no more than 2 in one cycle"))
                .hasSize(3);
        assertThat(report.hosts().getFirst().problems()).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo("brake_reached");
            assertThat(problem.detail()).contains("5 processes", "3 wait");
        });

        cycles(10);
        assertThat(signals()).containsExactly("1 TERM", "2 TERM", "3 TERM", "4 TERM");
        assertThat(cycles(20).hosts().getFirst().problems()).isEmpty();
        assertThat(signals()).hasSize(5).last().isEqualTo("5 TERM");
    }

    /** Nobody hides behind others of his that come and go. */
    @Test
    void whoWaitsLongestComesFirst() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, null, 1));
        node.shows(host().devices(1).with(process(1).uses(0), process(9).uses(0)));
        cycles(0);
        node.shows(host().devices(1).with(process(2).uses(0), process(9).uses(0)));
        cycles(10);

        assertThat(signals()).containsExactly("1 TERM", "9 TERM");
    }

    @Test
    void whatFailsDoesNotHoldUpTheOthers() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, null, 1));
        node.answers(action ->
                Result.of(((Action.Terminate) action).process().pid() == 1 ? Outcome.DENIED : Outcome.SIGNALLED));
        node.shows(host().devices(1).with(process(1).uses(0), process(9).uses(0)));

        cycles(0, 10, 20);

        assertThat(signals()).containsExactly("1 TERM", "9 TERM", "1 TERM");
    }

    @Test
    void whatFailsAgainAndAgainStaysBehind() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, null, 1));
        node.answers(action ->
                Result.of(((Action.Terminate) action).process().pid() < 9 ? Outcome.DENIED : Outcome.SIGNALLED));
        node.shows(host().devices(1)
                .with(
                        process(1).uses(0),
                        process(2).uses(0),
                        process(3).uses(0),
                        process(9).uses(0)));

        cycles(0, 10, 20, 30);

        assertThat(signals()).containsExactly("1 TERM", "2 TERM", "3 TERM", "9 TERM");
    }

    /** However old the violation is that they break: each of them waits for himself. */
    @Test
    void newcomersInAnOldViolationWaitTheirTurn() {
        enforcer = enforcer(new Restraint(Duration.ZERO, Duration.ZERO, null, 1));
        var environment = env("a").capacity("1mi").attached(0);
        node.shows(host().devices(1).with(environment).with(process(1).in("a").uses(0)));
        cycles(0);
        node.shows(host().devices(1)
                .with(environment)
                .with(
                        process(1).in("a").uses(0),
                        process(2).in("a").uses(0),
                        process(9).uses(0)));
        cycles(10);
        node.shows(host().devices(1)
                .with(environment)
                .with(
                        process(1).in("a").uses(0),
                        process(2).in("a").uses(0),
                        process(3).in("a").uses(0),
                        process(9).uses(0)));
        cycles(20);

        assertThat(signals()).hasSize(3).contains("9 TERM");
    }

    @Test
    void onAHostThatMayOnlyBeWatchedNothingIsDone() {
        node.watchesOnly("another enforcer acts here");

        var report = cycles(0);

        assertThat(node.performed).isEmpty();
        assertThat(report.lines()).last().asString().endsWith("(skipped_audit: another enforcer acts here)");
    }

    private CycleReport cycles(int... seconds) {
        CycleReport last = null;
        for (var second : seconds) {
            time.passTo(Duration.ofSeconds(second));
            last = enforcer.runCycle().orElseThrow();
        }
        assertThat(last).isNotNull();
        return last;
    }

    private List<String> signals() {
        return node.performed.stream()
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
                .with(process(1).in("a").uses(0, "600mi"), process(2).in("a").uses(0, "700mi"));
    }

    private Enforcer killingAfter(@Nullable Duration killAfter) {
        return enforcer(new Restraint(Duration.ZERO, Duration.ZERO, killAfter, 0));
    }

    private Enforcer enforcer(Restraint restraint) {
        var modes = Map.of(RuleName.NON_ENV_PROCESSES, RuleMode.ENFORCE, RuleName.ENV_MEMORY, RuleMode.ENFORCE);
        var setup = SetupBuilder.setup(() -> List.copyOf(hosts))
                .rules(modes, DeviceLimits.NONE)
                .restraint(restraint)
                .build();
        return new Enforcer(setup, journal, time.ticker(), List.of());
    }
}
