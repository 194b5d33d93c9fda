package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.StateAccess.StateAccessException;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(600)
class StateAccessTest {
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final Duration LONG = Duration.ofSeconds(50);

    private final CountDownLatch released = new CountDownLatch(1);
    private final AtomicInteger begun = new AtomicInteger();
    private final Path folder;
    private final Path state;
    private final FakeProc proc;
    private final StateAccess access;

    StateAccessTest(@TempDir Path folder) throws IOException {
        this.folder = folder.toRealPath();
        state = this.folder.resolve("genv");
        proc = new FakeProc(this.folder.resolve("proc"));
        access = new StateAccess(state, new ProcFs(proc.root()));
    }

    @AfterEach
    void release() {
        released.countDown();
    }

    @Test
    void hangingCallIsReportedWithItsFileSystem() throws Exception {
        mounts("63 22 0:39 / %s rw - nfs4 server:/x rw".formatted(state));
        assertStuck()
                .isInstanceOfSatisfying(
                        StateAccessException.class,
                        e -> assertThat(StateAccess.directory(e))
                                .isInstanceOfSatisfying(
                                        Directory.Unreadable.class,
                                        directory ->
                                                assertThat(directory.failure()).isEqualTo(Reading.Failure.TIMEOUT)))
                .hasMessage(
                        "%s does not answer: there was no answer within 20 ms; it is in a file system of the type nfs4"
                                + " that is mounted on %s",
                        state, state);
        assertThat(access.call(LONG, () -> "another one may")).isNotEmpty();
    }

    @Test
    void leavesAtMostEightThreadsBehind() throws Exception {
        // A call whose thread has not begun by then is not left behind.
        await().untilAsserted(() -> assertStuck().hasMessageContaining("8 earlier calls have not returned"));
        assertThat(begun).hasValueLessThanOrEqualTo(StateAccess.MAX_STUCK);
        released.countDown();
        await().until(this::answers);
    }

    private void mounts(String line) throws IOException {
        proc.mounts("self", "22 1 254:0 / / rw - ext4 /dev/root rw", line);
    }

    private AbstractThrowableAssert<?, ? extends Throwable> assertStuck() {
        return assertThatThrownBy(() -> access.call(SHORT, () -> {
            begun.incrementAndGet();
            awaitUninterrupted();
            return "too late";
        }));
    }

    /** As a system call that a file system keeps. */
    private void awaitUninterrupted() {
        while (released.getCount() > 0) {
            try {
                released.await();
            } catch (InterruptedException goOn) {
                // It does not end for that.
            }
        }
    }

    private boolean answers() throws Exception {
        try {
            return access.call(LONG, () -> true);
        } catch (StateAccessException e) {
            return false;
        }
    }

    // The path on the host. In this container, the state directory is a mount of the host's /data/srv/genv.

    @BeforeEach
    void createDirectoryAndMounts() throws IOException {
        Files.createDirectory(state);
        proc.mountNamespace("self", 4026532281L).mountNamespace("1", 4026531841L);
        mountOf("/srv/genv");
        proc.mounts(
                "1",
                "22 1 254:0 / / rw - ext4 /dev/root rw",
                "23 22 98:0 /etc /mnt rw - ext4 /dev/sda rw",
                "24 22 98:0 / /data rw - ext4 /dev/sda rw");
        linkHostDirectoryTo(folder);
    }

    /** The directory itself ends the path that stands for DIRECTORY. Somebody may put a link into the way of the mount. */
    @ParameterizedTest
    @CsvSource({
        "DIRECTORY, false",
        "/genv, false",
        "/, false",
        "/subvolumeDIRECTORY, false",
        "/usr/local/sbin, true",
        "/srv/genv, true",
        "/srv/a\\040b, true",
        "/xgenv, true",
        "/genv//deleted, true",
    })
    void differentPathOnTheHostIsReported(String root, boolean isDifferent) throws IOException {
        mountOf(root.replace("DIRECTORY", state.toString()));
        assertThat(access.differentPath())
                .isEqualTo(isDifferent ? Optional.of(Path.of(root.replace("\\040", " "))) : Optional.empty());
    }

    @Test
    void directoryThatIsNoMountIsNotReported() throws IOException {
        proc.mounts("self", "36 22 98:0 /data %s rw - ext4 /dev/sda rw".formatted(folder));
        assertThat(access.differentPath()).isEmpty();
    }

    private void mountOf(String root) throws IOException {
        proc.mounts(
                "self",
                "22 1 0:30 / / rw - overlay overlay rw",
                "36 22 98:0 %s %s rw - ext4 /dev/sda rw".formatted(root, state));
    }

    @Test
    void anotherOrNoDirectoryInPlaceOfTheHostsIsReported() throws IOException {
        assertThat(moved()).isEmpty();
        var empty = Files.createDirectory(folder.resolve("empty"));
        var replaced = Files.createDirectory(folder.resolve("replaced"));
        Files.createDirectory(replaced.resolve("genv"));
        var linked = Files.createDirectory(folder.resolve("linked"));
        Files.createSymbolicLink(linked.resolve("genv"), state);
        for (var parent : List.of(empty, replaced, linked)) {
            linkHostDirectoryTo(parent);
            assertThat(moved()).as(parent.toString()).contains(new Directory.Stale("/data/srv/genv"));
        }
        linkHostDirectoryTo(folder);
        assertThat(moved()).isEmpty();
    }

    @Test
    void removedButMountedDirectoryIsReported() throws IOException {
        try (var open = requireNonNull(StateDirectory.open(state))) {
            Files.delete(state);
            assertThat(access.check(open.folder().status())).contains(new Directory.Stale(""));
        }
    }

    @Test
    void comparesNothingOutsideContainers() throws IOException {
        proc.mountNamespace("self", 4026531841L);
        linkHostDirectoryTo(Files.createDirectory(folder.resolve("empty")));
        assertThat(moved()).isEmpty();
        assertThat(moved()).isEmpty();
    }

    @Test
    void unreadableMountInformationIsNoProblem() throws IOException {
        proc.mounts("1", "22 1 254:0 / / rw - ext4 /dev/root rw");
        assertThat(moved()).isEmpty();
        linkHostDirectoryTo(Files.createDirectory(folder.resolve("empty")));
        assertThat(moved()).isEmpty();
        Files.delete(proc.root().resolve("1/mountinfo"));
        assertThat(moved()).isEmpty();
        Files.delete(proc.root().resolve("1/ns/mnt"));
        assertThat(moved()).isEmpty();
    }

    private void linkHostDirectoryTo(Path parent) throws IOException {
        var link = Files.createDirectories(proc.root().resolve("1/root/data")).resolve("srv");
        Files.deleteIfExists(link);
        Files.createSymbolicLink(link, parent);
    }

    private Optional<Directory.Stale> moved() throws IOException {
        try (var open = requireNonNull(StateDirectory.open(state))) {
            return access.check(open.folder().status());
        }
    }
}
