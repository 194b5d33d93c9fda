package dev.genv.enforcer.recording.replay;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.policy.Policy;
import dev.genv.enforcer.recording.replay.ReplayedAction.DetachedAttachment;
import dev.genv.enforcer.recording.replay.ReplayedAction.TerminatedProcess;
import dev.genv.enforcer.testsupport.builder.HostBuilder;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A replay takes those devices from a user that the enforcement takes. */
class NewAttachmentReplayTest extends ReplayFixture {
    private static final long OF_CONTAINER = 1234;

    @Test
    void newAttachmentIsDetachedBeforeAnIdleOneWithAnyRecordedTime() {
        past.cycle(idle().snapshot()).cycle(withContainer("01/01/2020 00:00:00").snapshot());

        assertThat(targets(replay(0)))
                .hasSize(2)
                .contains(new DetachedAttachment("2", 1))
                .anySatisfy(target -> assertThat(target).isInstanceOf(TerminatedProcess.class));
    }

    @Test
    void cyclesBeforeThePeriodShowWhatIsNew() {
        past.cycle(idle().snapshot())
                .cycle(withContainer("01/01/2020 00:00:00").snapshot())
                .cycle(withContainer("01/01/2020 00:00:00").devices(3).snapshot());

        assertThat(targets(replay(2))).contains(new DetachedAttachment("2", 1));
    }

    @Test
    void recordedTimesAloneDetachNothingUntilADeviceIsIdle() {
        var busy = host().devices(2)
                .with(env("1").attachedAt("20/11/2026 09:00:00", 0), env("2").attachedAt("20/11/2026 10:00:00", 1))
                .with(process(7).uid(OF_CONTAINER).inEnvironment("1").uses(0));
        var job = process(8).uid(OF_CONTAINER).inEnvironment("2").uses(1);
        var idle = busy.snapshot();
        var both = busy.with(job).snapshot();
        past.cycle(both).cycle(both.withProcesses(both.processes().reversed()));
        assertThat(targets(replay(0))).isEmpty();

        past.cycle(idle);
        assertThat(targets(replay(0))).containsExactly(new DetachedAttachment("2", 1));
    }

    private Replay replay(int observed) {
        return replay(quota(1), observed);
    }

    /** Only observes the first cycles. */
    private Replay replay(Policy policy, int observed) {
        var replay = new Replay(policy, false, false);
        past.cycles.subList(0, observed).forEach(replay::observe);
        past.cycles.subList(observed, past.cycles.size()).forEach(replay::check);
        return replay;
    }

    private static List<ReplayedAction.Target> targets(Replay replay) {
        return replay.users().stream()
                .flatMap(user -> user.listed().stream())
                .map(ReplayedAction::target)
                .toList();
    }

    private static HostBuilder idle() {
        return host().devices(2).with(env("1").attachedAt("20/11/2026 09:00:00", 0));
    }

    private static HostBuilder withContainer(String time) {
        return idle().with(env("2").attachedAt(time, 1))
                .with(process(8).uid(OF_CONTAINER).inEnvironment("2").uses(1));
    }
}
