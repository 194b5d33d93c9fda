package dev.genv.enforcer.node.state;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.EnforcerFacts;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class EnforcerLockTest {
    private static final ProcFs PROC = new ProcFs(Path.of("/proc"));
    private final Path path;
    private final Path file;
    private final EnforcerLock first;
    private final EnforcerLock second;

    EnforcerLockTest(@TempDir Path folder) throws IOException {
        path = Files.createDirectory(folder.resolve("genv"));
        file = path.resolve(".genv-enforcer.lock");
        first = new EnforcerLock(path, PROC);
        second = new EnforcerLock(path, PROC);
    }

    @AfterEach
    void closeLocks() throws IOException {
        first.close();
        second.close();
    }

    @Test
    void singleEnforcerKeepsTheLock() throws IOException {
        assertActing(first);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        var inode = Files.getAttribute(file, "unix:ino");
        assertActing(first);
        assertThat(Files.getAttribute(file, "unix:ino")).isEqualTo(inode);
    }

    @Test
    void secondEnforcerIsReadOnlyUntilTheFirstStops() throws IOException {
        assertActing(first);
        for (var observation = 0; observation < 2; observation++) {
            var lockStatus = second.take();
            assertThat(lockStatus.other()).isEqualTo(new EnforcerFacts.Other.OnMachine((int)
                    ProcessHandle.current().pid()));
            assertActing(first);
        }
        first.close();
        assertActing(second);
        assertThat(first.take().other()).isNotNull();
    }

    @Test
    void actsWithoutStateDirectory() throws IOException {
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
    void actsWithoutLockWhenTheDirectoryCannotBeOpened() throws IOException {
        Files.move(path, path.resolveSibling("moved"));
        Files.createSymbolicLink(path, path.resolveSibling("moved"));
        assertActing(first);
        assertThat(path.resolveSibling("moved")).isEmptyDirectory();
    }

    /** Between the removal of the file and the next look, the second one may come first: one alone acts even then. */
    @Test
    void isReadOnlyWhenAnotherEnforcerHoldsTheNewLockFile() throws IOException {
        assertActing(first);
        Files.delete(file);
        assertActing(second);
        assertThat(first.take().other()).isNotNull();
        assertActing(second);
    }

    /** What happens to the lock file of an enforcer. No link is followed. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "rm LOCK",
                "mv genv moved && mkdir genv",
                "rm LOCK && echo something >LOCK",
                "rm LOCK && mkfifo LOCK",
                "rm LOCK && ln elsewhere LOCK",
                "rm LOCK && ln -s $PWD/elsewhere LOCK",
                "rm LOCK && ln -s $PWD/absent LOCK"
            })
    void removedOrForeignLockFileIsReplacedAndLocked(String change) throws IOException {
        var elsewhere = Files.writeString(path.resolveSibling("elsewhere"), "precious");
        assertActing(first);
        change(change);
        assertActing(first);
        assertThat(second.take().other()).isNotNull();
        assertThat(elsewhere).hasContent("precious");
        assertThat(path.resolveSibling("absent")).doesNotExist();
    }

    /** A user who can open the lock file can lock it, and then this enforcer only observes until that user releases it. */
    @ParameterizedTest
    @ValueSource(strings = {"chmod 644 LOCK", "ln LOCK second", "chown 65534 LOCK"})
    void lockFileOfOthersIsReplacedAlthoughItIsLocked(String change) throws IOException {
        if (change.startsWith("chown")) {
            Requirements.root();
        }
        assertActing(second);
        change(change);
        assertActing(first);
    }

    private void change(String commands) throws IOException {
        Programs.shell(path.getParent(), commands.replace("LOCK", "genv/.genv-enforcer.lock"));
    }

    /** One of the enforcer of another directory is locked, root's and closed: moved here it would make us watch. */
    @Test
    void lockFileOfAnotherDirectoryIsReplaced() throws IOException {
        var other = Files.createDirectory(path.resolveSibling("other"));
        try (var third = new EnforcerLock(other, PROC)) {
            assertActing(third);
            Files.move(other.resolve(file.getFileName()), file, StandardCopyOption.ATOMIC_MOVE);
            assertActing(first);
            assertActing(third);
        }
    }

    @Test
    void directoryInPlaceOfTheLockFileIsReportedAndDoesNotPreventActing() throws IOException {
        Files.createDirectory(file);
        var lockStatus = first.take();
        assertThat(lockStatus.other()).isNull();
        assertThat(lockStatus.unusable()).startsWith("cannot be used");
        Files.delete(file);
        assertActing(first);
    }

    private static void assertActing(EnforcerLock lock) {
        assertThat(lock.take()).isEqualTo(EnforcerFacts.NONE);
    }
}
