package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockHolders;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
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
    private static final LockHolders HOLDERS = new LockHolders(new ProcFs(Path.of("/proc")));
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
        try (var lock = taken()) {
            var start = System.nanoTime();
            for (var create : new boolean[] {true, false}) {
                assertTimesOut(new GenvLock(directory, SHORT, create));
            }
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(SHORT.multipliedBy(2));
            assertThat(lock.isInPlace()).isTrue();
        }
        taken().close();
    }

    /** A lock on a file that is no longer there excludes nobody, and whoever still holds it keeps nobody waiting. */
    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void waitsForTheFileThatIsTheLockFileNow(boolean isReplaced, boolean isReleased) throws Exception {
        var held = taken();
        var waiting = startWaiting();
        if (isReplaced) {
            Files.move(Files.createFile(file.resolveSibling("new")), file, ATOMIC_MOVE);
        } else {
            Files.delete(file);
        }
        if (isReleased) {
            held.close();
        }
        try (var _ = waiting.get()) {
            assertThat(file).isRegularFile();
            assertTimesOut(new GenvLock(directory, SHORT, true));
        }
        held.close();
    }

    /** As GenvLock of the agent does it. */
    @Test
    void waitsForTheEndOfALeaseOfTheLockFile() throws Exception {
        var lease = RealFlock.takeLease(Files.createFile(file));
        try (var lock = new GenvLock(directory, SHORT, true)) {
            assertThat(lock.take()).isFalse();
            assertThat(lock.failure())
                    .hasMessage("genv.lock is kept from being opened by its owner (fcntl F_SETLEASE)");
            assertThat(lock.facts(HOLDERS, SHORT).outcome()).isEqualTo(Outcome.UNUSABLE);
        }
        var waiting = startWaiting();
        lease.close();
        waiting.get().close();
    }

    private GenvLock taken() throws IOException, InterruptedException {
        var lock = new GenvLock(directory, LONG, true);
        assertThat(lock.take()).isTrue();
        return lock;
    }

    private static void assertTimesOut(GenvLock lock) throws IOException, InterruptedException {
        try (lock) {
            assertThat(lock.take()).isFalse();
            assertThat(lock.failure()).hasMessageContaining("for longer than 200 ms");
            assertThat(lock.facts(HOLDERS, SHORT).outcome()).isEqualTo(Outcome.TIMEOUT);
        }
    }

    /** Has another thread wait for the lock, and returns after its first attempt. */
    private Future<GenvLock> startWaiting() {
        var task = new FutureTask<>(this::taken);
        var thread = Thread.ofVirtual().start(task);
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
        return task;
    }
}
