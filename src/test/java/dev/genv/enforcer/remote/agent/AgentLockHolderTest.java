package dev.genv.enforcer.remote.agent;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.testsupport.FakeProc;
import dev.genv.enforcer.testsupport.RealFlock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which process the script reports as the holder of genv's lock, by what {@code /proc/locks} says. */
@Timeout(600)
class AgentLockHolderTest {
    private static final int HOLDER = 812;
    private static final int INNOCENT = 99;

    private final Path locks;
    private final Machine machine;
    private final FakeProc proc;
    private final Path lock;
    private final RealFlock held;

    AgentLockHolderTest(@TempDir Path folder) throws IOException {
        machine = new Machine(folder).lockTimeout(Duration.ofMillis(300));
        proc = machine.useFakeProc(folder.resolve("proc"));
        locks = folder.resolve("proc/locks");
        lock = machine.state.resolve("genv.lock");
        held = RealFlock.take(lock);
    }

    @BeforeEach
    void write() throws IOException {
        machine.files().device(0).write();
        proc.process(HOLDER).command("holder").uid(1003);
        proc.process(INNOCENT).command("innocent").uid(1004);
    }

    @AfterEach
    void release() throws IOException {
        held.close();
    }

    @Test
    void reportsTheHolderOfThisDeviceAndInode() throws Exception {
        locks(line(INNOCENT, "ff:07"), line(HOLDER, device()), line(INNOCENT, "ff:08"));
        assertThat(reported()).contains("process 812 (holder) of uid 1003").doesNotContain("innocent");
    }

    /** On btrfs, stat(2) and /proc/locks show different devices. */
    @Test
    void reportsTheHolderOfTheInodeIfItIsTheOnlyOneWithThatInode() throws Exception {
        locks(line(HOLDER, "ff:07"));
        assertThat(reported()).contains("process 812 (holder) of uid 1003");
    }

    @Test
    void reportsNobodyIfFilesOfTwoOtherDevicesHaveTheInode() throws Exception {
        locks(line(HOLDER, "ff:07"), line(INNOCENT, "ff:08"));
        assertThat(reported()).contains("/proc/locks does not show the holder");
    }

    private String reported() throws Exception {
        return machine.agent().observe(machine.python, Set.of()).snapshot().problems().stream()
                .filter(problem -> problem.code() == ProblemCode.LOCK_TIMEOUT)
                .map(Problem::detail)
                .findFirst()
                .orElseThrow();
    }

    private void locks(String... lines) throws IOException {
        Files.writeString(locks, String.join("", lines));
    }

    private String line(int pid, String device) throws IOException {
        return "1: FLOCK  ADVISORY  WRITE %d %s:%s 0 EOF\n"
                .formatted(pid, device, Files.getAttribute(lock, "unix:ino"));
    }

    /** As the kernel writes the number that stat(2) gives. */
    private String device() throws IOException {
        var number = (long) Files.getAttribute(lock, "unix:dev");
        var major = ((number >> 8) & 0xfff) | ((number >> 32) & 0xfffff000L);
        var minor = (number & 0xff) | ((number >> 12) & 0xffffff00L);
        return "%02x:%02x".formatted(major, minor);
    }
}
