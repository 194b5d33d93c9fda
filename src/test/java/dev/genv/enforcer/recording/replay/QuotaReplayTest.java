package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.replay.ReplayedAction.DetachedAttachment;
import dev.genv.enforcer.recording.replay.ReplayedAction.TerminatedProcess;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import org.junit.jupiter.api.Test;

class QuotaReplayTest extends ReplayFixture {
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
                .anySatisfy(target -> assertThat(target).isEqualTo(new DetachedAttachment("3", 2)))
                .anySatisfy(target -> assertThat(target)
                        .isInstanceOfSatisfying(
                                TerminatedProcess.class,
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

        var replay = new Replay(quota(1), false, true);
        past.cycles.forEach(replay::check);

        assertThat(replay.users().getFirst().listed()).singleElement().satisfies(action -> {
            assertThat(action.host()).isEqualTo("b");
            assertThat(action.message()).contains("2 devices on 2 hosts");
        });
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
