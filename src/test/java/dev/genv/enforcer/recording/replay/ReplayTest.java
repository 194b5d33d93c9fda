package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.KnownRules.ENV_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_MEMORY;
import static dev.genv.enforcer.testsupport.KnownRules.MAX_DEVICES_PER_USER;
import static dev.genv.enforcer.testsupport.KnownRules.NON_ENV_PROCESSES;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.history.state.AppearanceConfig;
import dev.genv.enforcer.model.Immunity;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Unlisted;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.policy.definition.Limits;
import dev.genv.enforcer.policy.definition.RuleDefinition;
import dev.genv.enforcer.policy.definition.RuleMode;
import dev.genv.enforcer.recording.Playback;
import dev.genv.enforcer.recording.replay.ReplayedAction.EndedAttachment;
import dev.genv.enforcer.recording.replay.ReplayedAction.EndedProcess;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ReplayTest {
    private static final AppearanceConfig APPEARANCES =
            AppearanceConfig.of(Duration.ofSeconds(60), Playback.INTERVAL);

    private final Playback past = new Playback();

    @Test
    void processIsTerminatedOnceHoweverLongItRan() {
        var stray =
                host().devices(1).with(process(7).uid(1001).uses(0, "100mi")).snapshot();
        IntStream.range(0, 100).forEach(_ -> past.cycle(stray));

        var replay = replay(enforcing(NON_ENV_PROCESSES));

        assertThat(replay.users()).hasSize(1);
        var user = replay.users().getFirst();
        assertThat(user.name()).isEqualTo("1001");
        assertThat(user.terminations()).isOne();
        var action = user.listed().getFirst();
        assertThat(action.at()).isEqualTo(Playback.BEGIN.plus(Playback.INTERVAL));
        assertThat(action.host()).isEqualTo("here");
        assertThat(action.message()).isEqualTo("Process 7 is not running in a GPU environment");
        assertThat(action.rules()).containsExactly(NON_ENV_PROCESSES);
        assertThat(action.target()).isInstanceOfSatisfying(EndedProcess.class, process -> {
            assertThat(process.pid()).isEqualTo(7);
            assertThat(process.devices()).containsExactly(0);
            assertThat(process.environment()).isNull();
        });
    }

    @Test
    void laterProcessWithTheSamePidIsAnotherOne() {
        past.cycle(stray(process(7))).cycle(stray(process(7).startedLaterBy(100)));

        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users().getFirst().terminations())
                .isEqualTo(2);
    }

    @Test
    void countsAllCyclesAlsoThoseInWhichNothingChanged() {
        var idle = host().devices(1).snapshot();
        IntStream.range(0, 60).forEach(_ -> past.cycle(idle));

        var replay = replay(enforcing(NON_ENV_PROCESSES));

        assertThat(replay.cycles()).isEqualTo(55); // the last five were not recorded yet
        assertThat(replay.from()).isEqualTo(Playback.BEGIN.plus(Playback.INTERVAL));
        assertThat(replay.to()).isEqualTo(past.last().at());
        assertThat(replay.users()).isEmpty();
    }

    /** After the newest device is detached, the user holds two, so nothing more happens although the past still holds three. */
    @Test
    void surplusDeviceIsDetachedOnceAndItsProcessesAreTerminated() {
        var three = threeDevices();
        past.cycle(three.snapshot())
                .cycle(three.with(process(9).inEnvironment("1").uses(0, "900mi"))
                        .snapshot());

        var user = replay(quota(2)).users().getFirst();

        assertThat(user.name()).isEqualTo("raz");
        assertThat(user.detachments()).isOne();
        assertThat(user.terminations()).isOne();
        assertThat(user.listed())
                .extracting(ReplayedAction::target)
                .anySatisfy(target -> assertThat(target).isEqualTo(new EndedAttachment("3", 2)))
                .anySatisfy(target -> assertThat(target)
                        .isInstanceOfSatisfying(
                                EndedProcess.class,
                                process -> assertThat(process.pid()).isEqualTo(13)));
    }

    @Test
    void attachmentThatIsMadeAgainCountsAgain() {
        past.cycle(threeDevices().snapshot())
                .cycle(host().devices(3).snapshot())
                .cycle(threeDevices().snapshot());

        assertThat(replay(quota(2)).users().getFirst().detachments()).isEqualTo(2);
    }

    @Test
    void hostThatDoesNotAnswerForgetsNothing() {
        past.cycle(threeDevices().snapshot())
                .cycle(unreachable())
                .cycle(threeDevices().snapshot());

        assertThat(replay(quota(2)).users().getFirst().detachments()).isOne();
    }

    @Test
    void quotaCountsTheHostsThatDidNotChangeToo() {
        var one = HostBuilder.host("a").devices(1).with(env("1").attached(0)).snapshot();
        past.cycle(one, HostBuilder.host("b").devices(1).snapshot())
                .cycle(
                        one,
                        HostBuilder.host("b")
                                .devices(1)
                                .with(env("2").attachedAt("01/12/2026 00:00:00", 0))
                                .snapshot());

        var replay = new Replay(quota(1), APPEARANCES, true);
        past.cycles.forEach(replay::check);

        assertThat(replay.users().getFirst().listed()).singleElement().satisfies(action -> {
            assertThat(action.host()).isEqualTo("b");
            assertThat(action.message()).contains("2 devices on 2 hosts");
        });
    }

    @Test
    void memoryIsFreedByWhatWasTerminated() {
        var full = host().devices(1)
                .with(env("1").attached(0).capacity("1000mi"))
                .with(
                        process(1).inEnvironment("1").uses(0, "900mi"),
                        process(2).inEnvironment("1").uses(0, "300mi"));
        past.cycle(full.snapshot())
                .cycle(full.with(process(3).inEnvironment("1").uses(0, "50mi")).snapshot());

        assertThat(replay(enforcing(ENV_MEMORY)).users().getFirst().listed())
                .singleElement()
                .satisfies(action ->
                        assertThat(((EndedProcess) action.target()).pid()).isEqualTo(2));
    }

    @Test
    void sparesProtectedProcessesAndThoseOfExemptUsers() {
        past.cycle(stray(process(1).immune(Immunity.Kind.PROTECTED, "it runs Xorg")));
        past.cycle(host().devices(3)
                .with(env("1").attached(0, 1, 2).exempt())
                .with(process(2).inEnvironment("1").uses(0, "1mi").immune(Immunity.Kind.EXEMPT, "exempt"))
                .snapshot());

        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users()).isEmpty();
        assertThat(replay(quota(1)).users()).isEmpty();
    }

    @Test
    void unlistedProcessIsTerminatedOnce() {
        var holder = new Unlisted.Holder(process(5).uid(1001).usesUnknown(0).build(), 1, List.of(0));
        var node = host().devices(1).snapshot().with(new Unlisted(Map.of(), List.of(holder)));
        past.cycle(node).cycle(stray(process(1))).cycle(node);

        var users = replay(enforcing(KnownRules.named("unlisted-processes"))).users();

        assertThat(users.getFirst().terminations()).isEqualTo(2); // it was gone in between
        past.cycles.removeLast();
        assertThat(replay(enforcing(KnownRules.named("unlisted-processes")))
                        .users()
                        .getFirst()
                        .terminations())
                .isOne();
    }

    @Test
    void ruleInAuditModeEndsNothing() {
        past.cycle(stray(process(1)));

        assertThat(replay(KnownRules.policy(Map.of(NON_ENV_PROCESSES, RuleMode.AUDIT), Limits.NONE))
                        .users())
                .isEmpty();
    }

    @Test
    void processIsOfTheUserOfItsEnvironment() {
        past.cycle(host().devices(2)
                .with(env("1").user("alice").uid(1005).attached(0))
                .with(process(1).uid(4711).inEnvironment("1").uses(1, "1mi"))
                .snapshot());

        assertThat(replay(enforcing(ENV_DEVICES)).users().getFirst().name()).isEqualTo("alice");
    }

    @Test
    void processOutsideOfEnvironmentsIsOfTheUserWithThatAccount() {
        past.cycle(host().devices(2)
                .with(env("1").user("alice").uid(1005).account())
                .with(process(1).uid(1005).uses(1, "1mi"))
                .snapshot());

        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users().getFirst().name())
                .isEqualTo("alice");
    }

    @Test
    void nameThatIsRecordedLaterIsTheNameOfEarlierProcessesToo() {
        past.cycle(stray(process(1).uid(1005)))
                .cycle(host().devices(1)
                        .with(env("1").user("alice").uid(1005).account())
                        .with(process(2).uid(1005).uses(0, "1mi"))
                        .snapshot())
                .cycle(stray(process(3).uid(1005)));

        var user = replay(enforcing(NON_ENV_PROCESSES)).users();

        assertThat(user).singleElement().satisfies(alice -> {
            assertThat(alice.name()).isEqualTo("alice");
            assertThat(alice.terminations()).isEqualTo(3);
            assertThat(alice.listed()).extracting(ReplayedAction::at).isSorted();
        });
    }

    @Test
    void strangerInAnEnvironmentIsNotItsUser() {
        past.cycle(host().devices(1)
                .with(env("1").user("alice").uid(1005).livePidsOf(1005).attached(0))
                .with(process(9).uid(6666).inEnvironment("1").uses(0, "1mi"))
                .snapshot());

        assertThat(replay(enforcing(KnownRules.ENV_OWNER)).users())
                .extracting(ReplayedUser::name)
                .containsExactly("6666");
    }

    @Test
    void listsAHundredActionsOfAUserAndCountsAll() {
        IntStream.range(0, 300).forEach(number -> past.cycle(stray(process(10 + number))));

        var user = replay(enforcing(NON_ENV_PROCESSES)).users().getFirst();

        assertThat(user.terminations()).isEqualTo(300);
        assertThat(user.listed()).hasSize(ReplayedUser.MAX_LISTED);
    }

    @Test
    void countsTheUsersAboveTheLargestNumberTogether() {
        var users = Replay.MAX_USERS + 5;
        var all = IntStream.range(0, users)
                .mapToObj(number -> process(10 + number).uid(1000 + number).uses(0, "1mi"))
                .toArray(GpuProcessBuilder[]::new);
        past.cycle(host().devices(1).with(all).snapshot());

        var replay = replay(enforcing(NON_ENV_PROCESSES));

        assertThat(replay.users()).hasSize(Replay.MAX_USERS + 1);
        assertThat(replay.users().getFirst().name()).isNull();
        assertThat(replay.users().getFirst().terminations()).isEqualTo(5);
        assertThat(replay.users().stream()
                        .mapToInt(user -> user.listed().size())
                        .sum())
                .isLessThanOrEqualTo(Replay.MAX_LISTED);
    }

    @Test
    void pastOfThirtyDaysIsReplayedInTheMemoryOfOneFleet() {
        for (var day = 0; day < 30; day++) {
            past.cycle(stray(process(10 + day))).waits(Duration.ofDays(1));
        }

        assertThat(replay(enforcing(NON_ENV_PROCESSES)).users().getFirst().terminations())
                .isEqualTo(30);
    }

    private Replay replay(Policy policy) {
        var replay = new Replay(policy, APPEARANCES, false);
        past.cycles.forEach(replay::check);
        return replay;
    }

    private static Policy enforcing(RuleDefinition rule) {
        return KnownRules.policy(Map.of(rule, RuleMode.ENFORCE), Limits.NONE);
    }

    private static Policy quota(int limit) {
        return KnownRules.policy(Map.of(MAX_DEVICES_PER_USER, RuleMode.ENFORCE), new Limits(limit, Map.of()));
    }

    private static Snapshot stray(GpuProcessBuilder process) {
        return host().devices(1).with(process.uses(0, "100mi")).snapshot();
    }

    private static HostBuilder threeDevices() {
        return host().devices(3)
                .with(
                        env("1").attachedAt("20/11/2026 09:00:00", 0),
                        env("2").attachedAt("20/11/2026 10:00:00", 1),
                        env("3").attachedAt("20/11/2026 11:00:00", 2))
                .with(
                        process(11).inEnvironment("1").uses(0, "1mi"),
                        process(12).inEnvironment("2").uses(1, "1mi"),
                        process(13).inEnvironment("3").uses(2, "1mi"));
    }

    private static Snapshot unreachable() {
        return Snapshot.unseen("here", new Problem(ProblemCode.UNREACHABLE, "no answer"));
    }
}
