package dev.genv.enforcer.enforcement;

import static dev.genv.enforcer.testsupport.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Part;
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
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Second thoughts: what waits, for how long, and what is told of it. */
class GraceTest {
    private static final Duration STATE_CHANGE_GRACE = Duration.ofSeconds(60);
    /** When the tests begin: the service has observed the host for so long that it knows its past. */
    private static final Duration BEGIN = Duration.ofSeconds(100);

    private static final long LONG_AGO = 1;

    private final FakeTime time = new FakeTime();
    private final Journal journal = new Journal(100);
    private final FakeHost node = new FakeHost(host());
    private final Set<RuleName> off = EnumSet.of(RuleName.ENV_OWNER); // it never does anything
    private DeviceLimits limits = DeviceLimits.NONE;
    private Restraint restraint = new Restraint(Duration.ZERO, STATE_CHANGE_GRACE, null, 0);
    private @Nullable Enforcer enforcer;

    @Test
    void aViolationIsEnforcedOnlyWhenItHasLasted() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        shows(at(0), host().devices(1).with(process(1).uses(0)));
        cycles(10, 29);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).as("told once").containsExactly("skipped_grace");

        cycles(30);
        assertThat(outcomes()).containsExactly("skipped_grace", "signalled");
    }

    @Test
    void aViolationThatWasOverForTheCompliancePeriodBeginsAnew() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        var stray = host().devices(1).with(process(1).uses(0));
        shows(at(0), stray);
        shows(at(10), host().devices(1));
        cycles(75);
        shows(at(80), stray);
        cycles(109);
        assertThat(node.performed).isEmpty();

        cycles(110);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void theGracePeriodEndsAlsoForAProcessThatBreaksARuleInEverySecondObservation() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        var stray = host().devices(1).with(process(1).uses(0));
        for (var second = 0; second < 60; second += 20) {
            shows(at(second), stray);
            shows(at(second + 10), host().devices(1));
        }
        assertThat(node.performed).isEmpty();

        shows(at(60), stray);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void oneRuleWhoseTimeHasComeIsEnough() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        shows(at(0), at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi")));
        shows(
                at(29),
                at(a().capacity("1000mi").attached(0), inA().uses(0, "2000mi").uses(1)));
        assertThat(node.performed).isEmpty();

        cycles(30);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void anAttachmentThatVanishedIsMissedForAWhile() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        cycles(69);

        assertThat(node.performed).isEmpty();
        assertThat(onlyEntry().change()).satisfies(change -> {
            assertThat(change.before()).isEqualTo("attached to device(s) 0");
            assertThat(change.after()).isEqualTo("not attached to device(s) 0");
            assertThat(change.at()).isEqualTo(FakeTime.START.plus(BEGIN).plusSeconds(10));
        });
        assertThat(onlyEntry().actions()).singleElement().satisfies(note -> {
            assertThat(note.outcome()).isEqualTo(Outcome.SKIPPED_GRACE);
            assertThat(note.detail()).contains("seen for 60 s", "before, attached to device(s) 0");
        });

        cycles(70);
        assertThat(node.performed).hasSize(1);
        assertThat(onlyEntry().change()).as("stays known").isNotNull();
    }

    @Test
    void oneThatNeverWasIsNotMissed() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0).uses(1)));

        assertThat(node.performed).as("device 1 was never its own").hasSize(1);
    }

    @Test
    void oneThatIsPutBackIsNoLoss() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        shows(at(20), at(a().attached(0), inA().uses(0)));
        cycles(70, 200);

        assertThat(node.performed).isEmpty();
        assertThat(journal.find(JournalEntry::active, 10)).isEmpty();
    }

    /** Whoever takes away and puts back in turn would use many devices and hold few. */
    @Test
    void theTimeOfSeveralLossesIsCountedTogether() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        shows(at(50), at(a().attached(0), inA().uses(0)));
        shows(at(60), at(a(), inA().uses(0)));
        cycles(79);
        assertThat(node.performed).isEmpty();

        cycles(80);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whoHasUsedItUpHasNoneLeft() {
        node.answers(_ -> Result.of(Outcome.ALREADY_GONE)); // and so tried every time
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        cycles(70, 80);
        shows(at(90), at(a().attached(0), inA().uses(0)));
        assertThat(node.performed).hasSize(2);
        shows(at(100), at(a(), inA().uses(0)));

        assertThat(node.performed).hasSize(3);
    }

    @Test
    void anAttachmentThatStoodForAnHourHasItsTimeAgain() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));
        shows(at(50), at(a().attached(0), inA().uses(0)));
        cycles(3651);
        shows(at(3660), at(a(), inA().uses(0)));
        cycles(3719);
        assertThat(node.performed).isEmpty();

        cycles(3720);
        assertThat(node.performed).hasSize(1);
    }

    /** Also when the process comes to the device only afterwards: it was in its right when it was started. */
    @Test
    void aProcessThatComesLaterHasAllItsTime() {
        shows(at(0), at(a().attached(0)));
        shows(at(10), at(a()));
        shows(at(200), at(a(), inA().uses(0)));
        cycles(259);
        assertThat(node.performed).isEmpty();

        cycles(260);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whatCannotBeReadForAWhileHasNotVanished() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a().attached(0), inA().uses(0)).without(Part.ATTACHMENTS));
        shows(at(20), at(a(), inA().uses(0)));
        cycles(79);
        assertThat(node.performed).isEmpty();

        cycles(80);
        assertThat(node.performed).hasSize(1);
    }

    /** A device that devices.json lacks is not judged; when it is there again, without the attachment, the time begins. */
    @Test
    void aDeviceThatWasNotDescribedHasNotLostItsAttachments() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)).undescribed(0));
        shows(at(100), at(a(), inA().uses(0)));
        cycles(159);
        assertThat(node.performed).isEmpty();

        cycles(160);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void anAttachmentThatVanishesWhileTheGpuToolFailsIsMissed() {
        shows(at(0), host().devices(2));
        node.at(1_000_000);
        shows(at(10), unlisted(env("b").pids(7).attached(0)));
        node.at(1_001_000);
        var job = process(1).in("b").later(10_000).uses(0);
        shows(at(20), at(env("b").pids(7), job));
        cycles(79);
        assertThat(node.performed).isEmpty();

        cycles(80);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whatWeDetachedOurselvesIsNotMissed() {
        limits = new DeviceLimits(0, Map.of());
        node.answers(action -> Result.of(
                action instanceof Action.Detach ? Outcome.DETACHED : Outcome.ALREADY_GONE)); // and asked for again
        shows(at(0), at(a().attached(0), inA().uses(0)));
        cycles(60);
        assertThat(node.performed).hasSize(2);

        shows(at(70), at(a(), inA().uses(0)));
        assertThat(node.performed).as("it is ended at once").hasSize(3);
    }

    @Test
    void anEnvironmentThatVanishedIsMissedForAWhile() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        cycles(69);
        assertThat(node.performed).isEmpty();
        assertThat(onlyEntry().change()).isNotNull();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void oneThatWasNeverThereIsNotMissed() {
        shows(at(0), at(inA().uses(0)));

        assertThat(node.performed).hasSize(1);
        assertThat(onlyEntry().change()).isNull();
    }

    /** To strike it out and write it again without its devices must not be quicker than to take the devices away. */
    @Test
    void itsAttachmentsAreRememberedOverItsAbsence() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(a(), inA().uses(0)));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).as("it was shown all the time").hasSize(1);
    }

    /** A small step that harms nobody does not start the clock of the one that does. */
    @Test
    void aHarmlessStepDoesNotCutTheTimeShort() {
        shows(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("3999m").attached(0), inA().uses(0, "2000mi")));
        shows(at(65), at(a().capacity("1").attached(0), inA().uses(0, "2000mi")));
        cycles(124);
        assertThat(node.performed).isEmpty();

        cycles(125);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aJobThatGrowsLaterHasItsTimeThen() {
        shows(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "500mi")));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "500mi")));
        shows(at(200), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(259);
        assertThat(node.performed).isEmpty();

        cycles(260);
        assertThat(node.performed).hasSize(1);
    }

    /** Bob's job outlives its shell; somebody writes an environment of his own by that id. */
    @Test
    void anEnvironmentOfOthersThatCameLaterTakesNobodyIn() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        node.at(1_000_000);
        shows(at(0), at(inA().uses(0)));
        shows(
                at(10),
                at(
                        a().uid(1007).livePidsOf(1007).capacity("1").attached(1),
                        inA().uses(0).uses(1)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    /** A pid is used again: the next shell is somebody else's, and the job of the first one has no part in its environment. */
    @Test
    void anotherEnvironmentByTheSameIdTakesNobodyIn() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().livePidsOf(1000).attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(a().uid(1007).livePidsOf(1007).attached(1), inA().uses(0)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
    }

    /** Over SSH we outlive the machine: what it said before it was started anew is about others by the same numbers. */
    @Test
    void aMachineThatWasStartedAnewHasNoPast() {
        node.at(1_000_000);
        shows(at(0), at(a().attached(0), inA().uses(0)));
        node.at(500);
        shows(at(10), at(a().attached(1), inA().uses(0)));
        assertThat(onlyEntry().change()).isNull();

        cycles(69);
        assertThat(node.performed)
                .as("nor does anybody know what was changed in it")
                .isEmpty();
        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    /** It may have been up for longer than before by the time that we see it again, or be another one by the same name. */
    @Test
    void anotherMachineByTheSameNameHasNoPast() {
        node.is("m1");
        shows(at(0), at(a().attached(0), inA().uses(0)));
        node.is("m2");
        shows(at(10), at(a().attached(1), inA().uses(0)));
        assertThat(onlyEntry().change()).isNull();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    /** He writes the pid of another user into his entry, so that he looks like a stranger in it. */
    @Test
    void nobodyMakesHimselfAStranger() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().livePidsOf(1000).attached(0), inA().uses(0)));
        shows(at(10), at(a().livePidsOf(0).attached(0), inA().uses(0).uses(1)));

        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whereTheInactiveAreEndedNobodyMakesHimselfAStranger() {
        shows(at(0), at(a().livePidsOf(1000).attached(0), inA().uses(0)));
        shows(at(10), at(a().livePidsOf(0).attached(0), inA().uses(0).uses(1)));

        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whoNamesAnEnvironmentOfOthersThatWasThereIsTakenAtHisWord() {
        node.at(900_000);
        shows(at(0), at(a().uid(1007).livePidsOf(1007).attached(1)));
        node.at(1_000_000);
        shows(at(10), at(a().uid(1007).livePidsOf(1007).attached(1), inA().uses(0)));

        assertThat(node.performed).hasSize(1);
    }

    /** By the same user's hand, or by a pid that is used again. */
    @Test
    void aProcessIsNoVictimOfAnEnvironmentThatAppearedAfterIt() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(inA().uses(0)));
        shows(at(10), at(a().livePidsOf(1000), inA().uses(0)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_protected");
    }

    /** Otherwise everybody could shield himself: he starts a process, and its environment afterwards. */
    @Test
    void aProcessOlderThanItsEnvironmentIsTerminatedAsInactiveAfterTheGrace() {
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(1), at(inA().uses(0)));
        shows(at(10), at(a().livePidsOf(1000), inA().uses(0)));
        cycles(60);
        assertThat(node.performed).isEmpty();

        cycles(61);
        assertThat(node.performed).hasSize(1);
    }

    /** The shell is gone, the job goes on; somebody writes the environment anew with the job's own pid. */
    @Test
    void anEndedEnvironmentIsNotRevivedAgainstItsJob() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().pids(7).livePidsOf(1000).attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(a().pids(1).livePidsOf(1000).capacity("1").attached(1), inA().uses(0)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    @Test
    void anEnvironmentWhosePidsAreAllOfAnotherUidAtOnceIsAnotherOne() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().pids(7).livePidsOf(1000).attached(0), inA().uses(0)));
        shows(at(10), at(a().pids(1).livePidsOf(1001).attached(1), inA().uses(0)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
    }

    /** Its user would shield all his older processes otherwise. What is taken from it with that has the ordinary time. */
    @Test
    void anEnvironmentWhosePidsAreReplacedByOthersOfItsUserIsTheSame() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().pids(7).livePidsOf(1000).attached(0), inA().uses(0)));
        shows(at(10), at(a().pids(8).livePidsOf(1000), inA().uses(0)));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    /** The kernel knows the shell after which the environment is named: it is older than the process, whoever wrote what. */
    @Test
    void anEnvironmentThatWasNeverAbsentIsAsOldAsItsShell() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().pids(7).shellSince(900_000).attached(0), inA().uses(0)));
        shows(
                at(10),
                at(a().pids(8).shellSince(900_000).attached(0), inA().uses(0).uses(1)));

        assertThat(node.performed).hasSize(1);
    }

    /** The user deactivates it in a shell that stays open, and the job goes on; another user writes it anew. */
    @Test
    void aLiveShellDoesNotMakeARevivedEnvironmentOlderThanItsJob() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().pids(7).shellSince(900_000).attached(0), inA().uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(a().pids(7).shellSince(900_000), inA().uses(0)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).contains("skipped_protected");
    }

    @Test
    void aLiveShellProvesNothingOfAnEnvironmentThatTheServiceSawAppear() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(inA().uses(0)));
        shows(at(10), at(a().pids(7).shellSince(900_000), inA().uses(0)));
        cycles(100, 1000);

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_protected");
    }

    /** A job that is started after it was written anew names an environment that is there. */
    @Test
    void aJobThatIsYoungerThanTheLastAbsenceIsJudged() {
        off.add(RuleName.INACTIVE_ENV_PROCESSES);
        shows(at(0), at(a().pids(7).shellSince(900_000).attached(0)));
        node.at(1_001_000);
        shows(at(10), host().devices(2));
        node.at(1_002_000);
        shows(at(20), at(a().pids(7).shellSince(900_000).attached(0)));
        shows(
                at(30),
                at(
                        a().pids(7).shellSince(900_000).attached(0),
                        inA().later(20_000).uses(1)));

        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aProcessThatCameWithItsEnvironmentHasNoMoreTimeThanOthers() {
        node.at(900_000);
        shows(at(0), at(env("b")));
        node.at(1_000_000);
        shows(at(10), at(a().livePidsOf(1000), inA().uses(0)));

        assertThat(node.performed).hasSize(1);
    }

    /** Whoever breaks now one rule and now another one has still broken rules all the time. */
    @Test
    void theGracePeriodIsThatOfTheProcess() {
        restraint = new Restraint(Duration.ofSeconds(30), Duration.ZERO, null, 0);
        shows(at(0), at(process(1).uses(0)));
        shows(at(10), at(inA().uses(0)));
        shows(at(20), at(process(1).uses(0)));
        shows(at(30), at(inA().uses(0)));

        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aCapacityThatWasLoweredBindsAfterAWhile() {
        shows(at(0), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(69);
        assertThat(node.performed).isEmpty();
        assertThat(onlyChange().before()).isEqualTo("memory capacity 4g");
        assertThat(onlyChange().after()).isEqualTo("memory capacity 1g");

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aCapacityThatWasSetWhereThereWasNoneToo() {
        shows(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void whatWasTooMuchBeforeIsTooMuchNow() {
        shows(at(0), at(a().capacity("2g").attached(0)));
        shows(at(10), at(a().capacity("1g").attached(0), inA().uses(0, "4000mi")));

        assertThat(node.performed).hasSize(1);
    }

    /** Whoever lowers it step by step does not cut the time short. */
    @Test
    void whatCountsIsWhatStoodThereBeforeTheFirstStep() {
        shows(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("1500mi").attached(0), inA().uses(0, "2000mi")));
        shows(at(60), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void aLaterStepHasATimeOfItsOwn() {
        shows(at(0), at(a().attached(0), inA().uses(0, "2000mi")));
        shows(at(10), at(a().capacity("4g").attached(0), inA().uses(0, "2000mi")));
        cycles(80);
        shows(at(90), at(a().capacity("1g").attached(0), inA().uses(0, "2000mi")));
        cycles(149);
        assertThat(node.performed).isEmpty();

        cycles(150);
        assertThat(node.performed).hasSize(1);
    }

    /** Somebody writes raz's name over carol's: nothing of hers is taken for raz' quota before people can see it. */
    @Test
    void anEnvironmentThatChangedHandsPaysNobodysQuotaForAWhile() {
        limits = new DeviceLimits(1, Map.of());
        var raz = env("b").attached(1);
        var razs = process(2).in("b").uses(1);
        shows(
                at(0),
                host().devices(2)
                        .with(a().user("carol").uid(1003).attached(0), raz)
                        .with(inA().uses(0), razs));
        shows(
                at(10),
                host().devices(2)
                        .with(a().attached(0), raz)
                        .with(inA().uid(1003).uses(0), razs));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).isNotEmpty();
        assertThat(onlyChange().before()).isEqualTo("user carol of uid 1003");
    }

    /** genv's SDK sets the id where nobody can see it; that an environment lists the pid is all that protects it. */
    @Test
    void aPidThatWasStruckOutIsMissedForAWhile() {
        shows(at(0), at(a().pids(7).attached(0), process(7).membershipUnknown().uses(0)));
        shows(at(10), at(a().attached(0), process(7).uses(0)));
        cycles(69);
        assertThat(node.performed).isEmpty();

        cycles(70);
        assertThat(node.performed).hasSize(1);
    }

    @Test
    void withoutPatienceTheChangeIsToldAllTheSame() {
        restraint = Restraint.NONE;
        shows(at(0), at(a().attached(0), inA().uses(0)));
        shows(at(10), at(a(), inA().uses(0)));

        assertThat(node.performed).hasSize(1);
        assertThat(onlyEntry().change()).isNotNull();
    }

    @Test
    void theImmuneAreReportedAndLeftAlone() {
        shows(
                at(0),
                host().devices(1)
                        .with(
                                process(1).uses(0).immune(Immunity.Kind.PROTECTED, "it runs /usr/bin/server"),
                                process(2).uses(0).immune(Immunity.Kind.EXEMPT, "it is of uid 1007")));

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).containsExactlyInAnyOrder("skipped_protected", "skipped_exempt");
        assertThat(journal.find(entry -> entry.active(), 10)).hasSize(2);
    }

    @Test
    void nothingIsDetachedFromTheExempt() {
        limits = new DeviceLimits(0, Map.of());
        shows(at(0), at(a().exempt().attached(0)));

        assertThat(node.performed).isEmpty();
        assertThat(outcomes()).containsExactly("skipped_exempt");
    }

    private static Duration at(int seconds) {
        return Duration.ofSeconds(seconds);
    }

    private static HostBuilder at(EnvBuilder environment, GpuProcessBuilder... processes) {
        return host().devices(2).with(environment).with(processes);
    }

    private static HostBuilder at(GpuProcessBuilder process) {
        return host().devices(2).with(process);
    }

    private static HostBuilder unlisted(EnvBuilder environment) {
        return host().devices(2).unlisted(0).unlisted(1).with(environment).without(Part.PROCESSES);
    }

    private static EnvBuilder a() {
        return env("a");
    }

    private static GpuProcessBuilder inA() {
        return process(1).in("a");
    }

    private void shows(Duration when, HostBuilder host) {
        node.shows(host);
        cycles((int) when.toSeconds());
    }

    private void cycles(int... seconds) {
        var running = enforcer == null ? enforcer() : enforcer;
        enforcer = running;
        for (var second : seconds) {
            time.passTo(BEGIN.plusSeconds(second));
            assertThat(running.runCycle()).isPresent();
        }
    }

    private JournalEntry onlyEntry() {
        var entries = journal.find(JournalEntry::active, 10);
        assertThat(entries).hasSize(1);
        return entries.getFirst();
    }

    private Change onlyChange() {
        return Objects.requireNonNull(onlyEntry().change());
    }

    private List<String> outcomes() {
        return journal.find(entry -> true, 100).stream()
                .flatMap(entry -> entry.actions().stream())
                .map(note -> note.outcome().label())
                .toList();
    }

    private Enforcer enforcer() {
        var modes = Arrays.stream(RuleName.values())
                .filter(rule -> !off.contains(rule))
                .collect(Collectors.toMap(Function.identity(), _ -> RuleMode.ENFORCE));
        var setup = SetupBuilder.setup(node)
                .rules(modes, limits)
                .restraint(restraint)
                .build();
        var made = new Enforcer(setup, journal, time.ticker(), List.of());
        node.observedBefore(LONG_AGO, made::runCycle);
        time.passTo(BEGIN);
        return made;
    }
}
