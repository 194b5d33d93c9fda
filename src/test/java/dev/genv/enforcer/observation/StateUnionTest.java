package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.StateParser.State;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The state is read before the GPU tool starts and after it answered, and counts as the union of both readings. */
class StateUnionTest {
    private final StateParser parser = new StateParser("/var/tmp/genv");

    @Test
    void whatOneReadingShowsCounts() {
        var state = parse(
                files().env("a", 1003, "alice", null, 7).device(0, "a"),
                files().env("b", 1004, "bob", null, 8).device(0));
        assertThat(environments(state).environments())
                .extracting(Environment::eid)
                .containsExactlyInAnyOrder("a", "b");
        assertThat(devices(state).devices().getFirst().attachments())
                .extracting(Attachment::eid)
                .containsExactly("a");
        assertThat(state.problems()).isEmpty();
    }

    @Test
    void environmentHasThePidsOfBothAndTheLargerCapacity() {
        var state = parse(files().env("a", 1003, "alice", "2g", 7), files().env("a", 1003, "alice", "1m", 8));
        var environment = environments(state).environments().getFirst();
        assertThat(environment.pids()).containsExactlyInAnyOrder(7, 8);
        assertThat(environment.config().gpuMemory()).isEqualTo("2g");
        assertThat(environment.ownership().isDisputed()).isFalse();
        assertThat(environments(parse(
                                files().env("a", 1003, "alice", null, 7), files().env("a", 1003, "alice", "1m", 7)))
                        .environments()
                        .getFirst()
                        .config()
                        .gpuMemory())
                .isNull();
    }

    @Test
    void environmentWithAnotherOwnerIsDisputed() {
        for (var later :
                new StateFiles[] {files().env("a", 1004, "alice", null, 7), files().env("a", 1003, "bob", null, 7)}) {
            var state = parse(files().env("a", 1003, "alice", null, 7), later);
            assertThat(environments(state).environments().getFirst().ownership().isDisputed())
                    .isTrue();
        }
    }

    @Test
    void fileThatOneReadingLacksIsThatOfTheOther() {
        var some = facts(files().env("a", 1003, "alice", null, 7).device(0, "a"));
        var none = new StateFacts(present(), LockFacts.NOT_ATTEMPTED, new StateFile.Absent(), new StateFile.Absent());
        assertThat(environments(parser.parse(none, some)).environments()).hasSize(1);
        assertThat(devices(parser.parse(some, none)).devices()).hasSize(1);
    }

    /** Otherwise a user who makes the first reading fail would decide by the second one, whose time is known. */
    @Test
    void fileThatOneReadingCannotReadIsUnreadable() {
        var some = facts(files().env("a", 1003, "alice", null, 7).device(0, "a"));
        var garbage = new StateFacts(
                present(),
                LockFacts.NOT_ATTEMPTED,
                new StateFile.Present(Bytes.of(new byte[] {'{'})),
                new StateFile.Unreadable(StateFile.Cause.DENIED, 0, ""));
        var failed = new StateFacts(
                new Directory.Unreadable(dev.genv.enforcer.host.Reading.Failure.OTHER, "it fails"),
                LockFacts.NOT_ATTEMPTED,
                new StateFile.Absent(),
                new StateFile.Absent());
        for (var unreadable : new StateFacts[] {garbage, failed}) {
            for (var state : new State[] {parser.parse(unreadable, some), parser.parse(some, unreadable)}) {
                assertThat(state.envs()).isInstanceOf(State.File.Unreadable.class);
                assertThat(state.devices()).isInstanceOf(State.File.Unreadable.class);
            }
        }
    }

    @Test
    void problemOfBothReadingsIsReportedOnce() {
        var twice = files().env("a", 1003, "alice", "x", 7).device(0);
        var json = twice.envsJson().replace("\"pids\"", "\"pid\"");
        var one = new StateFacts(present(), LockFacts.NOT_ATTEMPTED, file(json), file(twice.devicesJson()));
        var other = new StateFacts(present(), LockFacts.NOT_ATTEMPTED, file(json + " "), file(twice.devicesJson()));
        assertThat(environments(parser.parse(one, other)).problems())
                .extracting(Problem::code)
                .containsExactly(ProblemCode.ENTRY_UNREADABLE);
    }

    private State parse(StateFiles earlier, StateFiles later) {
        return parser.parse(facts(earlier), facts(later));
    }

    private static StateFacts facts(StateFiles files) {
        return new StateFacts(present(), LockFacts.NOT_ATTEMPTED, file(files.envsJson()), file(files.devicesJson()));
    }

    private static StateFile file(String content) {
        return new StateFile.Present(Bytes.of(content.getBytes(java.nio.charset.StandardCharsets.UTF_8)));
    }

    private static Directory present() {
        return new Directory.Present(new FileId(1, 2), 3);
    }

    private static StateFiles files() {
        return new StateFiles(Path.of("/nowhere"));
    }

    private static EnvsFile environments(State state) {
        return ((State.File.Present<EnvsFile>) state.envs()).content();
    }

    private static DevicesFile devices(State state) {
        return ((State.File.Present<DevicesFile>) state.devices()).content();
    }
}
