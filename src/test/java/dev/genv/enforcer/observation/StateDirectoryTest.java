package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.ProblemCode;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class StateDirectoryTest {
    private final StateParser parser = new StateParser("/var/tmp/genv");

    @Test
    void directoryThatAppearsLaterIsNoProblem() {
        assertUnchanged(new Directory.Absent());
        assertUnchanged(new Directory.Absent());
        assertUnchanged(status(7, 1));
    }

    @Test
    void removedDirectoryIsReportedWhileItIsMissing() {
        assertUnchanged(status(7, 1));
        assertChanged(new Directory.Absent(), "/var/tmp/genv existed at an earlier observation and is gone");
        assertChanged(new Directory.Absent(), "is gone");
        assertUnchanged(status(7, 1));
    }

    @Test
    void replacedDirectoryIsReportedOnce() {
        assertUnchanged(status(7, 1));
        assertChanged(status(8, 2), "/var/tmp/genv is another directory");
        assertUnchanged(status(8, 2));
    }

    /** File systems give the number of a directory that was removed to the next one. */
    @Test
    void directoryWithReusedInodeIsReported() {
        assertUnchanged(status(7, 1));
        assertChanged(status(7, 2), "is another directory");
    }

    private void assertUnchanged(Directory directory) {
        assertThat(parser.recordDirectory(directory)).isEmpty();
    }

    private void assertChanged(Directory directory, String what) {
        assertThat(parser.recordDirectory(directory)).hasValueSatisfying(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.STATE_DIRECTORY_REPLACED);
            assertThat(problem.detail()).contains(what);
        });
    }

    /** What was not read is neither the same directory nor another one. */
    @Test
    void unreadDirectoryIsNoProblem() {
        assertUnchanged(status(7, 1));
        assertUnchanged(new Directory.Unreadable(Reading.Failure.TIMEOUT, "why"));
        assertUnchanged(new Directory.UserMount(1000, "fuse", "/var/tmp/genv"));
        assertUnchanged(new Directory.Stale(""));
        assertUnchanged(status(7, 1));
    }

    private static Directory status(long inode, long born) {
        return new Directory.Present(new FileId(1, inode), born);
    }

    private static final Directory PRESENT = new Directory.Present(new FileId(1, 2), 0);
    private static final StateFile ABSENT = new StateFile.Absent();
    private static final StateFile FILE = new StateFile.Present(Bytes.EMPTY);
    private static final StateFile UNREADABLE = new StateFile.Unreadable(StateFile.Cause.DENIED, 0, "");

    @Test
    void aStateFileIsGenvs() {
        assertThat(hasGenv(PRESENT, FILE, ABSENT)).isTrue();
        assertThat(hasGenv(PRESENT, ABSENT, FILE)).isTrue();
        assertThat(hasGenv(PRESENT, UNREADABLE, ABSENT)).isTrue();
    }

    @Test
    void anEmptyOrAbsentDirectoryIsNot() {
        assertThat(hasGenv(PRESENT, ABSENT, ABSENT)).isFalse();
        assertThat(hasGenv(new Directory.Absent(), ABSENT, ABSENT)).isFalse();
    }

    @Test
    void aDirectoryThatWasNotReadShowsNeither() {
        assertThat(hasGenv(new Directory.Unreadable(Failure.TIMEOUT, "x"), ABSENT, ABSENT))
                .isNull();
        assertThat(hasGenv(new Directory.UserMount(7, "fuse", "/x"), ABSENT, ABSENT))
                .isNull();
        assertThat(hasGenv(new Directory.Stale(""), ABSENT, ABSENT)).isNull();
    }

    private static @Nullable Boolean hasGenv(Directory directory, StateFile envs, StateFile devices) {
        var facts = new StateFacts(directory, LockFacts.NOT_ATTEMPTED, envs, devices);
        return Observer.hasGenv(facts);
    }
}
