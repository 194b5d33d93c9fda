package dev.genv.enforcer.node.state;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.host.StateFacts.LockFacts;
import dev.genv.enforcer.host.StateFacts.LockFacts.Outcome;
import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockHolders;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
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
    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final FileStatus FILE =
            new FileStatus(0100666, 0, 0, 2147295, 0, FileStatus.device(0xfe, 0x10), 0, 1, 0, 0, 0);
    private static final String BEFORE = "genv.lock is held by another program, for longer than 5000 ms: ";
    private final Path file;
    private final StateDirectory directory;
    private final FakeProc fake;
    private final LockHolders holders;

    GenvLockTest(@TempDir Path folder, @TempDir Path proc) throws IOException {
        fake = new FakeProc(proc);
        fake.process(812).command("a) b").uid(1003);
        holders = new LockHolders(new ProcFs(proc));
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

    /** What genv and flock(1) use, which Java's own locks do not exclude. */
    @Test
    void isCompatibleWithFlock() throws Exception {
        Requirements.program("/usr/bin/flock", "util-linux");
        try (var _ = taken()) {
            assertThat(flock()).isNotZero();
        }
        assertThat(flock()).isZero();
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

    private int flock() throws IOException, InterruptedException {
        return new ProcessBuilder("/usr/bin/flock", "--nonblock", file.toString(), "true")
                .start()
                .waitFor();
    }

    /** Has another thread wait for the lock, and returns after its first attempt. */
    private Future<GenvLock> startWaiting() {
        var task = new FutureTask<>(this::taken);
        var thread = Thread.ofVirtual().start(task);
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
        return task;
    }

    // The holders.

    @Test
    void holderIsNeitherAWaitingProcessNorOneWithAnotherKindOfLock() throws IOException {
        locks(
                "1: POSIX  ADVISORY  WRITE 98 fe:10:2147295 0 EOF",
                "2: FLOCK  ADVISORY  WRITE 812 fe:10:2147295 0 EOF",
                "2: -> FLOCK  ADVISORY  WRITE 99 fe:10:2147295 0 EOF");
        assertThat(explained()).isEqualTo(BEFORE + "process 812 (a) b) of uid 1003");
        assertThat(holders.pid(FILE)).hasValue(812);
    }

    @Test
    void reportsHolderInAnotherPidNamespace() throws IOException {
        locks("1: FLOCK  ADVISORY  WRITE 0 fe:10:2147295 0 EOF");
        assertThat(explained()).isEqualTo(BEFORE + "a process of another PID namespace");
        assertThat(holders.pid(FILE)).isEmpty();
    }

    /** As btrfs does it: stat(2) and /proc/locks tell different devices. */
    @Test
    void matchesByInodeAloneWhenItIsUnique() throws IOException {
        locks("1: FLOCK  ADVISORY  WRITE 812 00:2f:2147295 0 EOF");
        assertThat(explained()).contains("process 812 ");
        locks("1: FLOCK  ADVISORY  WRITE 812 00:2f:2147295 0 EOF", "2: FLOCK  ADVISORY  WRITE 99 00:30:2147295 0 EOF");
        assertThat(explained()).contains("does not show");
    }

    @Test
    void reportsUnreadableLocks() {
        assertThat(explained()).startsWith(BEFORE + "the holder cannot be read");
        assertThat(holders.pid(FILE)).isEmpty();
    }

    private String explained() {
        var lock = new LockFacts(Outcome.TIMEOUT, "", LIMIT, LIMIT, holders.holders(FILE));
        return StateParser.lockProblem(lock).orElseThrow().detail();
    }

    private void locks(String... lines) throws IOException {
        Files.write(fake.root().resolve("locks"), List.of(lines));
    }
}
