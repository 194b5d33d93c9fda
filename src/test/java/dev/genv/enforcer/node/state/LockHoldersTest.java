package dev.genv.enforcer.node.state;

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
        var lock = holders.facts(LockException.timeout(LIMIT, FILE), LIMIT, LIMIT);
        return StateParser.lockProblem(lock).orElseThrow().detail();
    }

    private void locks(String... lines) throws IOException {
        Files.write(fake.root().resolve("locks"), List.of(lines));
    }
}
