package dev.genv.enforcer.node.state;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.linux.FileCalls.FileStatus;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.state.GenvLock.LockException;
import dev.genv.enforcer.observation.StateParser;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LockHoldersTest {
    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final FileStatus FILE =
            new FileStatus(0100666, 0, 0, 2147295, 0, FileStatus.device(0xfe, 0x10), 0, 1, 0, 0, 0);
    private static final String BEFORE = "genv.lock is held by another program, for longer than 5000 ms: ";
    private final FakeProc fake;
    private final LockHolders holders;

    LockHoldersTest(@TempDir Path folder) throws IOException {
        fake = new FakeProc(folder);
        fake.process(812).command("a) b").uid(1003);
        holders = new LockHolders(new ProcFs(folder));
    }

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
    void ignoresLocksOfOtherFiles() throws IOException {
        locks("1: FLOCK  ADVISORY  WRITE 99 fe:10:21472950 0 EOF", "2: FLOCK  ADVISORY  WRITE 98 fe:10:147295 0 EOF");
        assertThat(explained()).isEqualTo(BEFORE + "/proc/locks does not show the holder");
        assertThat(holders.pid(FILE)).isEmpty();
    }

    @Test
    void reportsHolderInAnotherPidNamespace() throws IOException {
        locks("1: FLOCK  ADVISORY  WRITE 0 fe:10:2147295 0 EOF");
        assertThat(explained()).isEqualTo(BEFORE + "a process of another PID namespace");
        assertThat(holders.pid(FILE)).isEmpty();
    }

    @Test
    void namesABoundedNumberOfSharedHolders() throws IOException {
        var lines = new String[50];
        for (var i = 0; i < lines.length; i++) {
            lines[i] = "%d: FLOCK  ADVISORY  READ %d fe:10:2147295 0 EOF".formatted(i, i == 0 ? 812 : 9000 + i);
        }
        locks(lines);
        assertThat(explained())
                .startsWith(BEFORE + "process 812 (a) b) of uid 1003, process 9001")
                .endsWith("and 17 more");
        assertThat(holders.facts(LockException.timeout(LIMIT, FILE), LIMIT, LIMIT)
                        .holders())
                .hasSize(20);
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
    void unparsableLinesNameNoHolder() throws IOException {
        locks(
                "",
                "x",
                "1: FLOCK  ADVISORY  WRITE x fe:10:2147295 0 EOF",
                "1: FLOCK  ADVISORY  WRITE 1 fffffffff:1:2147295 0 EOF");
        assertThat(explained()).contains("does not show");
    }

    @Test
    void reportsUnreadableLocks() {
        assertThat(explained()).startsWith(BEFORE + "the holder cannot be read");
        assertThat(holders.pid(FILE)).isEmpty();
    }

    @Test
    void knowsTheHolderOfARealLock(@TempDir Path folder) throws Exception {
        var real = new LockHolders(new ProcFs(Path.of("/proc")));
        try (var directory = requireNonNull(StateDirectory.open(folder));
                var lock = GenvLock.acquire(directory, Duration.ofSeconds(1), true)) {
            assertThat(lock).isNotNull();
            assertThat(real.pid(requireNonNull(directory.status("genv.lock"))))
                    .hasValue((int) ProcessHandle.current().pid());
        }
    }

    private String explained() {
        var lock = holders.facts(LockException.timeout(LIMIT, FILE), LIMIT, LIMIT);
        return StateParser.lockProblem(lock).orElseThrow().detail();
    }

    private void locks(String... lines) throws IOException {
        Files.write(fake.root().resolve("locks"), List.of(lines));
    }
}
