package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.node.state.GenvLock.LockException;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.RealLease;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(600)
class GenvLockTest {
    private static final Duration SHORT = Duration.ofMillis(200);
    private static final Duration LONG = HANG;
    private final Path file;
    private final StateDirectory directory;

    GenvLockTest(@TempDir Path folder) throws IOException {
        file = folder.resolve("genv.lock");
        directory = requireNonNull(StateDirectory.open(folder));
    }

    @AfterEach
    void close() throws IOException {
        directory.close();
    }

    @Test
    void waitsNoLongerThanTheTimeout() throws Exception {
        try (var lock = GenvLock.acquire(directory, SHORT, true)) {
            assertThat(lock).isNotNull();
            var start = System.nanoTime();
            for (var create : new boolean[] {true, false}) {
                assertThatThrownBy(() -> GenvLock.acquire(directory, SHORT, create))
                        .isInstanceOfSatisfying(LockException.class, GenvLockTest::assertTimeout)
                        .hasMessageContaining("for longer than 200 ms");
            }
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(SHORT.multipliedBy(2));
        }
        requireNonNull(GenvLock.acquire(directory, SHORT, false)).close();
    }

    /** What genv and flock(1) use, which Java's own locks do not exclude. */
    @Test
    void isCompatibleWithFlock() throws Exception {
        Requirements.program("/usr/bin/flock", "util-linux");
        try (var lock = GenvLock.acquire(directory, SHORT, true)) {
            assertThat(lock).isNotNull();
            assertThat(flock()).isNotZero();
        }
        assertThat(flock()).isZero();
    }

    /** A lock on a file that is no longer there excludes nobody, and whoever still holds it keeps nobody waiting. */
    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void waitsForTheFileThatIsTheLockFileNow(boolean isReplaced, boolean isReleased) throws Exception {
        var held = requireNonNull(GenvLock.acquire(directory, SHORT, true));
        var waiting = startWaiting();
        if (isReplaced) {
            Files.move(Files.createFile(file.resolveSibling("new")), file, ATOMIC_MOVE);
        } else {
            Files.delete(file);
        }
        if (isReleased) {
            held.close();
        }
        try (var lock = waiting.get()) {
            assertThat(lock).isNotNull();
            assertThat(file).isRegularFile();
            assertThatThrownBy(() -> GenvLock.acquire(directory, SHORT, true))
                    .isInstanceOfSatisfying(LockException.class, GenvLockTest::assertTimeout);
        }
        if (!isReleased) {
            held.close();
        }
    }

    /** As GenvLock of the agent does it. */
    @Test
    void waitsForTheEndOfALeaseOfTheLockFile() throws Exception {
        var lease = RealLease.take(Files.createFile(file));
        assertThatThrownBy(() -> GenvLock.acquire(directory, SHORT, true))
                .isInstanceOfSatisfying(
                        LockException.class, e -> assertThat(e.file()).isNull())
                .hasMessage("genv.lock is kept from being opened by its owner (fcntl F_SETLEASE)");
        var waiting = startWaiting();
        lease.close();
        requireNonNull(waiting.get()).close();
    }

    private static void assertTimeout(LockException e) {
        assertThat(e.file()).isNotNull();
    }

    private int flock() throws IOException, InterruptedException {
        return new ProcessBuilder("/usr/bin/flock", "--nonblock", file.toString(), "true")
                .start()
                .waitFor();
    }

    /** Has another thread wait for the lock, and returns after its first attempt. */
    private Future<@Nullable GenvLock> startWaiting() {
        var task = new FutureTask<@Nullable GenvLock>(() -> GenvLock.acquire(directory, LONG, true));
        var thread = Thread.ofVirtual().start(task);
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
        return task;
    }
}
