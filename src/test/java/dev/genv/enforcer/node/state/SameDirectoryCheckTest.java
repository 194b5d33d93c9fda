package dev.genv.enforcer.node.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.files.FileStatus;
import dev.genv.enforcer.model.ProblemCode;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class SameDirectoryCheckTest {
    private final SameDirectoryCheck directory = new SameDirectoryCheck(Path.of("/var/tmp/genv"));

    @Test
    void unchangedDirectoryIsNoProblem() {
        assertThat(directory.check(status(7, 1))).isEmpty();
        assertThat(directory.check(status(7, 1))).isEmpty();
    }

    @Test
    void directoryThatAppearsLaterIsNoProblem() {
        assertUnchanged(null);
        assertUnchanged(null);
        assertUnchanged(status(7, 1));
    }

    @Test
    void removedDirectoryIsReportedWhileItIsMissing() {
        assertUnchanged(status(7, 1));
        assertChanged(null, "/var/tmp/genv existed at an earlier observation and is gone");
        assertChanged(null, "is gone");
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

    private void assertUnchanged(@Nullable FileStatus status) {
        assertThat(directory.check(status)).isEmpty();
    }

    private void assertChanged(@Nullable FileStatus status, String what) {
        assertThat(directory.check(status)).hasValueSatisfying(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.STATE_DIRECTORY_REPLACED);
            assertThat(problem.detail()).contains(what);
        });
    }

    private static FileStatus status(long inode, long born) {
        return new FileStatus(040777, 0, inode, 0, 1, 2, 0, 0, born);
    }
}
