package dev.genv.enforcer.observation;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading.Failure;
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
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class StateParserTest {
    private static final Directory PRESENT = directory(2, 3);
    private static final Directory FAILED = new Directory.Unreadable(Failure.TIMEOUT, "it fails");
    private static final StateFile ABSENT = new StateFile.Absent();
    private static final StateFile UNREADABLE = new StateFile.Unreadable(StateFile.Cause.DENIED, 0, "");

    private final StateParser parser = new StateParser("/var/tmp/genv");

    @Test
    void replacedDirectoryIsReportedOnceAndAMissingOneInEachObservation() {
        assertReported(null, new Directory.Absent());
        assertReported(null, directory(7, 1));
        assertReported("/var/tmp/genv is another directory", directory(8, 2));
        assertReported(null, directory(8, 2));
        // File systems give the number of a directory that was removed to the next one.
        assertReported("is another directory", directory(8, 3));
        assertReported("/var/tmp/genv existed at an earlier observation and is gone", new Directory.Absent());
        assertReported("is gone", new Directory.Absent());
        assertReported(null, directory(8, 3));
        // What was not read is neither the same directory nor another one.
        assertReported(null, FAILED);
        assertReported(null, new Directory.UserMount(1000, "fuse", "/var/tmp/genv"));
        assertReported(null, new Directory.Stale(""));
        assertReported(null, directory(8, 3));
    }

    private void assertReported(@Nullable String what, Directory directory) {
        var problem = parser.rememberDirectory(directory);
        assertThat(problem.isPresent()).isEqualTo(what != null);
        problem.ifPresent(reported -> {
            assertThat(reported.code()).isEqualTo(ProblemCode.STATE_DIRECTORY_REPLACED);
            assertThat(reported.detail()).contains(String.valueOf(what));
        });
    }

    @Test
    void aStateFileIsGenvs() {
        var file = file("");
        assertThat(hasGenv(PRESENT, file, ABSENT)).isTrue();
        assertThat(hasGenv(PRESENT, ABSENT, file)).isTrue();
        assertThat(hasGenv(PRESENT, UNREADABLE, ABSENT)).isTrue();
        assertThat(hasGenv(PRESENT, ABSENT, ABSENT)).isFalse();
        assertThat(hasGenv(new Directory.Absent(), ABSENT, ABSENT)).isFalse();
        for (var unread : List.of(FAILED, new Directory.UserMount(7, "fuse", "/x"), new Directory.Stale(""))) {
            assertThat(hasGenv(unread, ABSENT, ABSENT)).isNull();
        }
    }

    private static @Nullable Boolean hasGenv(Directory directory, StateFile envs, StateFile devices) {
        return Observer.hasGenv(facts(directory, envs, devices));
    }

    // The state is read before the GPU tool starts and after it answered, and counts as the union of both readings.

    @Test
    void whatOneReadingShowsCounts() {
        var one = facts(files().env("a", 1003, "alice", null, 7).device(0, "a"));
        var state =
                parser.parse(one, facts(files().env("b", 1004, "bob", null, 8).device(0)));
        assertThat(environments(state)).extracting(Environment::eid).containsExactlyInAnyOrder("a", "b");
        assertThat(devices(state).devices().getFirst().attachments())
                .extracting(Attachment::eid)
                .containsExactly("a");
        assertThat(state.problems()).isEmpty();
        var none = facts(PRESENT, ABSENT, ABSENT);
        assertThat(environments(parser.parse(none, one))).hasSize(1);
        assertThat(devices(parser.parse(one, none)).devices()).hasSize(1);
    }

    /** As two entries in one file, which {@code StateFilesTest} tests. */
    @Test
    void differentEntriesOfAnEnvironmentAreMerged() {
        var earlier = facts(files().env("a", 1003, "alice", "2g", 7));
        var environment = environments(parser.parse(earlier, facts(files().env("a", 1003, "alice", "1m", 8))))
                .getFirst();
        assertThat(environment.pids()).containsExactlyInAnyOrder(7, 8);
        assertThat(environment.config().gpuMemory()).isEqualTo("2g");
        assertThat(environment.ownership().isDisputed()).isFalse();
        var another = parser.parse(earlier, facts(files().env("a", 1004, "alice", null, 7)));
        assertThat(environments(another).getFirst().ownership().isDisputed()).isTrue();
    }

    /** Otherwise a user who makes the first reading fail would decide by the second one, whose time is known. */
    @Test
    void fileThatOneReadingCannotReadIsUnreadable() {
        var some = facts(files().env("a", 1003, "alice", null, 7).device(0, "a"));
        for (var unreadable : List.of(facts(PRESENT, file("{"), UNREADABLE), facts(FAILED, ABSENT, ABSENT))) {
            for (var state : List.of(parser.parse(unreadable, some), parser.parse(some, unreadable))) {
                assertThat(state.envs()).isInstanceOf(State.File.Unreadable.class);
                assertThat(state.devices()).isInstanceOf(State.File.Unreadable.class);
            }
        }
    }

    /** A container keeps the mount of a directory that the host has replaced or removed. */
    @Test
    void directoryThatTheHostNoLongerHasIsUnreadable() {
        for (var stale : List.of("/data/genv", "")) {
            var state = parser.parse(null, facts(new Directory.Stale(stale), ABSENT, ABSENT));
            for (var file : List.of(state.envs(), state.devices())) {
                assertThat(file).isInstanceOfSatisfying(State.File.Unreadable.class, unreadable -> {
                    assertThat(unreadable.problem().code()).isEqualTo(ProblemCode.STATE_DIRECTORY_MOVED);
                    assertThat(unreadable.problem().detail())
                            .startsWith("/var/tmp/genv ")
                            .contains(stale.isEmpty() ? "was removed" : "no longer has at " + stale);
                });
            }
        }
    }

    @Test
    void problemOfBothReadingsIsReportedOnce() {
        var files = files().env("a", 1003, "alice", "x", 7).device(0);
        var json = files.envsJson().replace("\"pids\"", "\"pid\"");
        var one = facts(PRESENT, file(json), file(files.devicesJson()));
        var other = facts(PRESENT, file(json + " "), file(files.devicesJson()));
        assertThat(((State.File.Present<EnvsFile>) parser.parse(one, other).envs())
                        .content()
                        .problems())
                .extracting(Problem::code)
                .containsExactly(ProblemCode.ENTRY_UNREADABLE);
    }

    private static StateFacts facts(StateFiles files) {
        return facts(PRESENT, file(files.envsJson()), file(files.devicesJson()));
    }

    private static StateFacts facts(Directory directory, StateFile envs, StateFile devices) {
        return new StateFacts(directory, LockFacts.NOT_ATTEMPTED, envs, devices);
    }

    private static StateFile file(String content) {
        return new StateFile.Present(Bytes.of(content.getBytes(UTF_8)));
    }

    private static Directory directory(long inode, long born) {
        return new Directory.Present(new FileId(1, inode), born);
    }

    private static StateFiles files() {
        return new StateFiles(Path.of("/nowhere"));
    }

    private static List<Environment> environments(State state) {
        return ((State.File.Present<EnvsFile>) state.envs()).content().environments();
    }

    private static DevicesFile devices(State state) {
        return ((State.File.Present<DevicesFile>) state.devices()).content();
    }
}
