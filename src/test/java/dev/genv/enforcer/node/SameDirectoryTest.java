package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.files.FileStatus;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class SameDirectoryTest {
    private final SameDirectory directory = new SameDirectory(Path.of("/var/tmp/genv"));

    @Test
    void theSameOneIsNoProblem() {
        assertThat(directory.changed(status(7, 1))).isEmpty();
        assertThat(directory.changed(status(7, 1))).isEmpty();
    }

    @Test
    void oneThatWasNeverThereIsNoProblem() {
        assertUnchanged(null);
        assertUnchanged(null);
        assertUnchanged(status(7, 1));
    }

    @Test
    void oneThatIsGoneIsToldAsLongAsItIs() {
        assertUnchanged(status(7, 1));
        assertChanged(null, "/var/tmp/genv was there at an earlier look and is gone");
        assertChanged(null, "is gone");
        assertUnchanged(status(7, 1));
    }

    @Test
    void anotherOneIsToldOnce() {
        assertUnchanged(status(7, 1));
        assertChanged(status(8, 2), "/var/tmp/genv is another directory");
        assertUnchanged(status(8, 2));
    }

    /** File systems give the number of a directory that was removed to the next one. */
    @Test
    void anotherOneWithTheSameNumberIsAnother() {
        assertUnchanged(status(7, 1));
        assertChanged(status(7, 2), "is another directory");
    }

    private void assertUnchanged(@Nullable FileStatus status) {
        assertThat(directory.changed(status)).isEmpty();
    }

    private void assertChanged(@Nullable FileStatus status, String what) {
        assertThat(directory.changed(status)).hasValueSatisfying(problem -> {
            assertThat(problem.code()).isEqualTo("state_directory_replaced");
            assertThat(problem.detail()).contains(what);
        });
    }

    private static FileStatus status(long inode, long born) {
        return new FileStatus(040777, 0, inode, 0, 1, 2, 0, 0, born);
    }
}
