package dev.genv.enforcer.remote.agent;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.testsupport.Child;
import dev.genv.enforcer.testsupport.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An nvidia-smi that does anything but what it should. */
@Timeout(600)
class AgentGpuTest {
    private final Path folder;
    private final Machine machine;
    private Machine.AgentHost agent;
    private final Child child = Child.withEnvironment(Map.of());

    AgentGpuTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new Machine(folder);
        agent = machine.agent();
    }

    @BeforeEach
    void listChild() throws IOException {
        machine.nvidiaSmi.process(0, child.pid(), "7");
    }

    @AfterEach
    void endChild() {
        child.close();
    }

    @Test
    void reportsKnownNvidiaSmiFailures() throws Exception {
        assertFault(
                "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
                ProblemCode.GPU_NEEDS_NEW_CONTAINER,
                "exited with 255");
        assertFault(
                "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
                ProblemCode.GPU_TOOL_FAILED,
                "nvidia-smi exited with 18: Failed to initialize NVML: Driver/library version mismatch");
        assertFault("exit 9", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi exited with 9: it printed nothing");
        assertFault("echo 'no driver' >&2; exit 9", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi exited with 9: no driver");
        assertFault("kill -9 $$", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi exited with 137");
        assertFault("kill $$", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi exited with 143");
        assertFault(
                "echo 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error'; exit 255",
                ProblemCode.GPU_LOST,
                "reset it or reboot");
        assertRecovers();
    }

    @Test
    void noDeviceIsNoProblem() throws Exception {
        machine.nvidiaSmi.gpuLines("");
        var observation = observe();
        assertThat(problems(observation)).isEmpty();
        assertThat(observation.snapshot().missing()).isEmpty();
        assertThat(observation.snapshot().listedDevices()).isEmpty();
    }

    @Test
    void reportsLostDevices() throws Exception {
        assertChildListed(observe());
        machine.nvidiaSmi.gpuLines("");
        var observation = observe();
        assertThat(problems(observation)).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
        assertThat(observation.snapshot().missing()).containsExactly(SnapshotPart.EVERY_PROCESS);
        machine.nvidiaSmi.gpus(1);
        assertThat(problems(observe())).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
        machine.nvidiaSmi.gpus(2);
        assertChildListed(observe());
    }

    @Test
    void unreadableLineIsReportedAndTheRestIsListed() throws Exception {
        machine.nvidiaSmi
                .process("[GPU is lost]", "[GPU is lost]", "[N/A]")
                .process(FakeNvidiaSmi.uuid(7), "" + child.pid(), "1");
        var observation = observe();
        assertThat(problems(observation))
                .extracting(Problem::code)
                .containsExactly(ProblemCode.GPU_LOST, ProblemCode.DEVICE_UNKNOWN);
        assertThat(observation.snapshot().missing()).containsExactly(SnapshotPart.EVERY_PROCESS);
        assertThat(observation.snapshot().processes())
                .extracting(GpuProcess::pid)
                .containsExactly(child.pid());
    }

    /** What it complains of while all is well is not its answer. */
    @Test
    void ignoresErrorOutputAndEmptyLines() throws Exception {
        machine.nvidiaSmi.fault("echo 'GPU-x, 1, 1' >&2; printf '\\n\\n'");
        assertChildListed(observe());
    }

    @Test
    void terminatesHangingNvidiaSmi() throws Exception {
        agent = agentWithShortTimeout();
        assertFault("exec sleep 600", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi did not exit within 1.00 s");
        agent = machine.gpuTimeout(HANG).agent();
        assertRecovers();
    }

    @Test
    void nvidiaSmiThatIgnoresSigtermIsKilled() throws Exception {
        agent = agentWithShortTimeout();
        assertFault("trap '' TERM; sleep 600; sleep 600", ProblemCode.GPU_TOOL_FAILED, "did not exit within 1.00 s");
        agent = machine.gpuTimeout(HANG).agent();
        assertRecovers();
    }

    /** Its output stays open, and nobody waits for the end of that. */
    @Test
    void doesNotWaitForChildOfNvidiaSmi() throws Exception {
        var pid = folder.resolve("pid");
        machine.nvidiaSmi.fault("[ -e %1$s ] || { sleep 600 & echo $! >%1$s; }".formatted(pid));
        var observation = observe();
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip())).ifPresent(ProcessHandle::destroyForcibly);
        assertChildListed(observation);
    }

    @Test
    void refusesTooMuchOutput() throws Exception {
        assertFault(
                "head -c 1500000 /dev/zero | tr '\\0' x; exit 3",
                ProblemCode.GPU_TOOL_FAILED,
                "printed more than 1048576 bytes");
        agent = agentWithShortTimeout();
        assertFault("tr '\\0' x </dev/zero", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi ");
        agent = machine.gpuTimeout(HANG).agent();
        assertRecovers();
    }

    @Test
    void runsNvidiaSmiInItsOwnEnvironment() throws Exception {
        var said = folder.resolve("environment");
        machine.nvidiaSmi.fault("env >" + said);
        assertChildListed(observe());
        assertThat(Files.readAllLines(said))
                .contains("LC_ALL=C", "GENV_BYPASS=1")
                .filteredOn(line -> !line.startsWith("PWD=") && !line.startsWith("_=") && !line.startsWith("SHLVL="))
                .hasSize(3);
    }

    @Test
    void reportsMissingOrNonExecutableNvidiaSmi() throws Exception {
        Files.delete(machine.nvidiaSmi.path());
        assertThat(assertProcessesMissing(observe()).detail())
                .isEqualTo(machine.nvidiaSmi.path() + " is not a program");
        Files.createDirectory(machine.nvidiaSmi.path());
        assertThat(assertProcessesMissing(observe()).detail())
                .isEqualTo(machine.nvidiaSmi.path() + " is not a program");
    }

    @Test
    void doesNotRunNvidiaSmiThatOthersCanReplace() throws Exception {
        machine.nvidiaSmi.fault("touch " + folder.resolve("called"));
        Files.setPosixFilePermissions(machine.nvidiaSmi.path(), PosixFilePermissions.fromString("rwxrwxr-x"));
        assertUntrusted("others can write " + machine.nvidiaSmi.path());
        Files.setPosixFilePermissions(machine.nvidiaSmi.path(), PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xrwx"));
        assertUntrusted("others can write " + folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Requirements.root();
        Files.setAttribute(machine.nvidiaSmi.path(), "unix:uid", 65534);
        assertUntrusted(machine.nvidiaSmi.path() + " belongs to user 65534");
        assertThat(folder.resolve("called")).doesNotExist();
    }

    private Machine.AgentHost agentWithShortTimeout() {
        return machine.gpuTimeout(Duration.ofSeconds(1)).agent();
    }

    private void assertUntrusted(String why) throws Exception {
        assertThat(assertProcessesMissing(observe()).detail())
                .isEqualTo("%s is not used: %s".formatted(machine.nvidiaSmi.path(), why));
    }

    /** The answer would be as long as there are processes; no machine has so many. */
    @Test
    void refusesMoreThanTheMaximumNumberOfProcesses() throws Exception {
        var lines = new StringBuilder();
        for (var pid = 100_000; pid < 104_097; pid++) {
            lines.append("echo '%s, %d, 1'\n".formatted(FakeNvidiaSmi.uuid(0), pid));
        }
        machine.nvidiaSmi.fault("case $1 in *compute*) " + lines + ";; esac");
        assertThat(assertProcessesMissing(observe()).detail()).contains("more processes than can be observed");
        machine.nvidiaSmi.fault("case $1 in *compute*) "
                + lines.toString().lines().limit(4000).reduce("", (one, next) -> one + "\n" + next) + ";; esac");
        assertChildListed(observe());
    }

    private void assertFault(String fault, ProblemCode code, String words) throws Exception {
        machine.nvidiaSmi.fault(fault);
        var problem = assertProcessesMissing(observe());
        assertThat(problem.code()).isEqualTo(code);
        assertThat(problem.detail()).contains(words);
    }

    private void assertRecovers() throws Exception {
        machine.nvidiaSmi.noFault();
        assertChildListed(observe());
    }

    private void assertChildListed(Observation observation) {
        assertThat(problems(observation)).isEmpty();
        assertThat(observation.snapshot().missing()).isEmpty();
        assertThat(observation.snapshot().processes())
                .extracting(GpuProcess::pid)
                .containsExactly(child.pid());
        assertThat(observation.snapshot().listedDevices()).containsExactlyInAnyOrder(0, 1);
    }

    private static Problem assertProcessesMissing(Observation observation) {
        assertThat(observation.snapshot().missing()).containsExactly(SnapshotPart.PROCESSES);
        assertThat(observation.snapshot().processes()).isEmpty();
        assertThat(problems(observation)).hasSize(1);
        return problems(observation).getFirst();
    }

    private Observation observe() throws Exception {
        return agent.observe(machine.python, Set.of());
    }

    private static List<Problem> problems(Observation observation) {
        return observation.snapshot().problems().stream()
                .filter(problem -> !problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }
}
