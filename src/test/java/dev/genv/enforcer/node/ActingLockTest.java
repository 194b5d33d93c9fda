package dev.genv.enforcer.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.Fifo;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class ActingLockTest {
    private static final LockHolders HOLDERS = new LockHolders(new ProcFs(Path.of("/proc")));
    private final Path path;
    private final Path file;
    private final ActingLock first;
    private final ActingLock second;

    ActingLockTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        file = path.resolve(".genv-enforcer.lock");
        first = new ActingLock(path, HOLDERS);
        second = new ActingLock(path, HOLDERS);
    }

    @AfterEach
    void giveBack() throws IOException {
        first.close();
        second.close();
    }

    @Test
    void whoIsAloneActsAndGoesOnActing() throws IOException {
        assertActing(first);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        var inode = Files.getAttribute(file, "unix:ino");
        assertActing(first);
        assertThat(Files.getAttribute(file, "unix:ino")).isEqualTo(inode);
    }

    @Test
    void theSecondOneWatchesUntilTheFirstIsGone() throws IOException {
        assertActing(first);
        for (var look = 0; look < 2; look++) {
            var standing = second.take();
            var other = "another enforcer (process %d) acts on this state directory"
                    .formatted(ProcessHandle.current().pid());
            assertThat(standing.other()).isEqualTo(other);
            assertThat(requireNonNull(standing.problem()).code()).isEqualTo(ProblemCode.SECOND_ENFORCER);
            assertThat(standing.problem().detail()).startsWith(other);
            assertActing(first);
        }
        first.close();
        assertActing(second);
        assertThat(first.take().other()).isNotNull();
    }

    @Test
    void whereThereIsNoDirectoryThereIsNothingToLock() throws IOException {
        assertActing(first);
        Files.delete(file);
        Files.delete(path);
        assertActing(first);
        assertThat(path).doesNotExist();
        Files.createDirectory(path);
        assertActing(first);
        assertThat(file).exists();
        assertThat(second.take().other()).isNotNull();
    }

    @Test
    void aDirectoryThatCannotBeOpenedIsToldByWhoeverReadsIt() throws IOException {
        Files.move(path, path.resolveSibling("moved"));
        Files.createSymbolicLink(path, path.resolveSibling("moved"));
        assertActing(first);
        assertThat(path.resolveSibling("moved")).isEmptyDirectory();
    }

    @Test
    void whoseFileIsRemovedTakesItAgain() throws IOException {
        assertActing(first);
        Files.delete(file);
        assertActing(first);
        assertThat(second.take().other()).isNotNull();
    }

    /** Between the removal of the file and the next look, the second one may come first: one alone acts even then. */
    @Test
    void whoseFileIsAnothersWatches() throws IOException {
        assertActing(first);
        Files.delete(file);
        assertActing(second);
        assertThat(first.take().other()).isNotNull();
        assertActing(second);
    }

    @Test
    void aDirectoryThatIsReplacedIsLockedAnew() throws IOException {
        assertActing(first);
        Files.move(path, path.resolveSibling("moved"));
        Files.createDirectory(path);
        assertActing(first);
        assertThat(second.take().other()).isNotNull();
    }

    @Test
    void whatIsNoFileOfOursIsRemovedAndKeepsNobodyFromActing() throws Exception {
        var elsewhere = Files.writeString(path.resolveSibling("elsewhere"), "precious");
        Files.createSymbolicLink(file, elsewhere);
        assertOursAgain();
        Files.createSymbolicLink(file, path.resolveSibling("absent"));
        assertOursAgain();
        assertThat(path.resolveSibling("absent")).doesNotExist();
        Fifo.at(file);
        assertOursAgain();
        Files.writeString(file, "something");
        assertOursAgain();
        Files.createLink(file, elsewhere);
        assertOursAgain();
        assertThat(elsewhere).hasContent("precious");
    }

    /** Whoever can open it can lock it: then we would watch for as long as he likes. */
    @Test
    void aFileThatOthersCanOpenIsNotOurs() throws IOException {
        assertActing(second);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        assertActing(first);
    }

    @Test
    void aFileOfAnotherUserIsNotOurs() throws IOException {
        Requirements.root();
        assertActing(second);
        Files.setAttribute(file, "unix:uid", 65534);
        assertActing(first);
    }

    /** One of the enforcer of another directory is locked, root's and closed: moved here it would make us watch. */
    @Test
    void theFileOfAnotherDirectoryIsNotOurs() throws IOException {
        var other = Files.createDirectory(path.resolveSibling("other"));
        try (var third = new ActingLock(other, HOLDERS)) {
            assertActing(third);
            Files.move(other.resolve(file.getFileName()), file, StandardCopyOption.ATOMIC_MOVE);
            assertActing(first);
            assertActing(third);
        }
    }

    @Test
    void aDirectoryInItsPlaceIsToldAndKeepsNobodyFromActing() throws IOException {
        Files.createDirectory(file);
        var standing = first.take();
        assertThat(standing.other()).isNull();
        assertThat(requireNonNull(standing.problem()).code()).isEqualTo(ProblemCode.ENFORCER_LOCK_UNUSABLE);
        assertThat(standing.problem().detail()).contains(".genv-enforcer.lock", "Remove what stands in its place");
        Files.delete(file);
        assertActing(first);
    }

    @Test
    void genvsOwnLockIsAnother() throws Exception {
        assertActing(first);
        try (var directory = requireNonNull(StateDirectory.open(path));
                var lock = directory.lock(Duration.ZERO, true)) {
            assertThat(lock).isNotNull();
        }
    }

    private void assertOursAgain() throws IOException {
        assertActing(first);
        assertThat(second.take().other()).isNotNull();
        Files.delete(file);
    }

    private static void assertActing(ActingLock lock) {
        assertThat(lock.take()).isEqualTo(ActingLock.Standing.ACTING);
    }
}
