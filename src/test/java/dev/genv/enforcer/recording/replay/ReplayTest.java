package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.KnownRules.ENV_DEVICES;
import static dev.genv.enforcer.testsupport.KnownRules.ENV_MEMORY;
import static dev.genv.enforcer.testsupport.KnownRules.NON_ENV_PROCESSES;
import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.policy.RuleConfig.Limits;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.recording.Playback;
import dev.genv.enforcer.recording.replay.ReplayedAction.TerminatedProcess;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import java.time.Duration;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ReplayTest extends ReplayFixture {
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
        assertThat(action.target()).isInstanceOfSatisfying(TerminatedProcess.class, process -> {
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
                        assertThat(((TerminatedProcess) action.target()).pid()).isEqualTo(2));
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
}
