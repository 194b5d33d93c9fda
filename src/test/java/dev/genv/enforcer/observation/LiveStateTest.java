package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Environment.Ownership;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.StateParser.State;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LiveStateTest {
    private static final Ownership OF_ITS_UID = new Ownership(null, false, Set.of(1000L), "alice");
    private static final Environment ALIVE = environment("alive", 40);
    private static final Environment DEAD = environment("dead", 41);
    private static final Device SHARED_DEVICE =
            new Device(0, "1mi", List.of(new Attachment("alive", null, null), new Attachment("dead", null, null)));
    private static final Problem WHY = new Problem(ProblemCode.LOCK_TIMEOUT, "somebody holds it");
    private final Findings findings = new Findings();

    @Test
    void deadEnvironmentsAreOmittedAndTheirDevicesAreFree() {
        var live = live(envs(ALIVE, DEAD), devices(SHARED_DEVICE));
        assertThat(live.environments()).containsExactly(ALIVE.with(ALIVE.pids(), OF_ITS_UID));
        assertThat(devices(live, 0))
                .containsExactly(new Device(0, "1mi", List.of(new Attachment("alive", null, null))));
        assertNothingMissing();
    }

    @Test
    void stateWithoutActiveEnvironmentsIsComplete() {
        devices(live(envs(DEAD), devices(SHARED_DEVICE)));
        live(envs(DEAD), new State.File.Absent<>());
        live(new State.File.Absent<>(), devices(new Device(0, "1mi", List.of())));
        assertNothingMissing();
    }

    /** Whoever takes the one away and spoils the other must not make strangers of everybody. */
    @Test
    void absentEnvironmentsWithUnreadableAttachmentsAreIncomplete() {
        live(new State.File.Absent<>(), new State.File.Unreadable<>(WHY));
        assertThat(findings.missing()).containsExactlyInAnyOrder(SnapshotPart.ENVIRONMENTS, SnapshotPart.ATTACHMENTS);
        assertThat(findings.problems())
                .extracting(Problem::code)
                .containsExactly(ProblemCode.LOCK_TIMEOUT, ProblemCode.STATE_INCOMPLETE);
    }

    private void assertNothingMissing() {
        assertThat(findings.missing()).isEmpty();
        assertThat(findings.problems()).isEmpty();
    }

    private LiveState live(State.File<EnvsFile> envs, State.File<DevicesFile> devices) {
        return LiveState.of(
                new State(envs, devices),
                new LivenessFacts(
                        Reading.of(List.of(new LivenessFacts.LiveProcess(40, 1000L))), LivenessFacts.Kernels.NONE),
                new Accounts(Map.of("alice", 1000L, "bob", 1001L)),
                Set.of(),
                findings);
    }

    private List<Device> devices(LiveState live, Integer... listed) {
        return live.devices(Set.of(listed), findings);
    }

    private static State.File<EnvsFile> envs(Environment... environments) {
        return new State.File.Present<>(new EnvsFile(List.of(environments), List.of()));
    }

    private static State.File<DevicesFile> devices(Device... devices) {
        return new State.File.Present<>(new DevicesFile(List.of(devices), List.of()));
    }

    private static Environment environment(String eid, int pid) {
        return new Environment(
                eid, 1000L, "alice", "", new Environment.Config(null, null, null), List.of(pid), List.of());
    }
}
