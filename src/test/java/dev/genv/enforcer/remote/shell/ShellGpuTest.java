package dev.genv.enforcer.remote.shell;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Part;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** An nvidia-smi that does anything but what it should. */
@Timeout(600)
@ParameterizedClass
@MethodSource("shells")
class ShellGpuTest {
    private final Path folder;
    private final Machine machine;
    private ShellAgent agent;
    private final Child child = Child.withEnvironment(Map.of());

    ShellGpuTest(String shell, @TempDir Path folder) throws IOException {
        this.folder = folder;
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        machine = new Machine(folder, shell);
        agent = machine.agent();
    }

    static Stream<String> shells() {
        return OneShell.some();
    }

    @BeforeEach
    void list() throws IOException {
        machine.smi.process(0, child.pid(), "7");
    }

    @AfterEach
    void end() {
        child.close();
    }

    @Test
    void itsWordsAreUnderstoodAsOnANode() throws Exception {
        assertFault(
                "echo 'Failed to initialize NVML: Unknown Error'; exit 255",
                ProblemCode.GPU_NEEDS_NEW_CONTAINER,
                "ended with 255");
        assertFault(
                "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
                ProblemCode.GPU_TOOL_FAILED,
                "nvidia-smi ended with 18: Failed to initialize NVML: Driver/library version mismatch");
        assertFault("exit 9", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi ended with 9: it said nothing");
        assertFault("echo 'no driver' >&2; exit 9", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi ended with 9: no driver");
        assertFault("kill -9 $$", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi was killed");
        assertFault("kill $$", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi ended with 143");
        assertFault(
                "echo 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error'; exit 255",
                ProblemCode.GPU_LOST,
                "reset it or reboot");
        assertRecovers();
    }

    @Test
    void noDeviceIsNoFault() throws Exception {
        machine.smi.gpuLines("");
        var look = look();
        assertThat(problems(look)).isEmpty();
        assertThat(look.snapshot().missing()).isEmpty();
        assertThat(look.snapshot().listedDevices()).isEmpty();
    }

    @Test
    void devicesThatWereListedBeforeAreLost() throws Exception {
        assertSeen(look());
        machine.smi.gpuLines("");
        var look = look();
        assertThat(problems(look)).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
        assertThat(look.snapshot().missing()).containsExactly(Part.EVERY_PROCESS);
        machine.smi.gpus(1);
        assertThat(problems(look())).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
        machine.smi.gpus(2);
        assertSeen(look());
    }

    @Test
    void aLineThatCannotBeReadHidesNoOther() throws Exception {
        machine.smi
                .process("[GPU is lost]", "[GPU is lost]", "[N/A]")
                .process(FakeNvidiaSmi.uuid(7), "" + child.pid(), "1");
        var look = look();
        assertThat(problems(look))
                .extracting(Problem::code)
                .containsExactly(ProblemCode.GPU_LOST, ProblemCode.DEVICE_UNKNOWN);
        assertThat(look.snapshot().missing()).containsExactly(Part.EVERY_PROCESS);
        assertThat(look.snapshot().processes()).extracting(GpuProcess::pid).containsExactly(child.pid());
    }

    /** What it complains of while all is well is not its answer. */
    @Test
    void whatItSaysBesidesIsNotHeard() throws Exception {
        machine.smi.fault("echo 'GPU-x, 1, 1' >&2; printf '\\n\\n'");
        assertSeen(look());
    }

    @Test
    void oneThatHangsIsEnded() throws Exception {
        agent = impatient();
        assertFault("exec sleep 600", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi did not end within 1.00 s");
        agent = machine.gpuTimeout(HANG).agent();
        assertRecovers();
    }

    /** It may be one that nothing can end: each look would leave one more behind. */
    @Test
    void oneThatDoesNotHeedIsLeftAloneForAWhile() throws Exception {
        agent = impatient();
        assertFault("trap '' TERM; sleep 600; sleep 600", ProblemCode.GPU_TOOL_FAILED, "did not end within 1.00 s");
        machine.smi.fault("touch " + folder.resolve("called"));
        assertThat(lost(look()).detail()).contains("left alone for a while");
        assertThat(folder.resolve("called")).doesNotExist();
        await("it may need longer than it has").untilAsserted(() -> {
            machine.nanos.addAndGet(Pauses.SHORTEST.toNanos());
            assertSeen(look());
        });
        assertThat(folder.resolve("called")).exists();
    }

    /** Its output stays open, and nobody waits for the end of that. */
    @Test
    void aChildOfItsOwnKeepsNobodyWaiting() throws Exception {
        var pid = folder.resolve("pid");
        machine.smi.fault("[ -e %1$s ] || { sleep 600 & echo $! >%1$s; }".formatted(pid));
        var look = look();
        ProcessHandle.of(Long.parseLong(Files.readString(pid).strip())).ifPresent(ProcessHandle::destroyForcibly);
        assertSeen(look);
    }

    @Test
    void garbageInMasseIsNoAnswer() throws Exception {
        assertFault(
                "head -c 1500000 /dev/zero | tr '\\0' x; exit 3",
                ProblemCode.GPU_TOOL_FAILED,
                "says more than 1048576 bytes");
        agent = impatient();
        assertFault("tr '\\0' x </dev/zero", ProblemCode.GPU_TOOL_FAILED, "nvidia-smi ");
        agent = machine.gpuTimeout(HANG).agent();
        assertRecovers();
    }

    @Test
    void itHasAnEnvironmentOfItsOwn() throws Exception {
        var said = folder.resolve("environment");
        machine.smi.fault("env >" + said);
        assertSeen(look());
        assertThat(Files.readAllLines(said))
                .contains("LC_ALL=C", "GENV_BYPASS=1")
                .filteredOn(line -> !line.startsWith("PWD=") && !line.startsWith("_=") && !line.startsWith("SHLVL="))
                .hasSize(3);
    }

    @Test
    void oneThatIsMissingOrNoProgramIsTold() throws Exception {
        Files.delete(machine.smi.path());
        assertThat(lost(look()).detail()).isEqualTo(machine.smi.path() + " is not a program");
        Files.createDirectory(machine.smi.path());
        assertThat(lost(look()).detail()).isEqualTo(machine.smi.path() + " is not a program");
    }

    @Test
    void oneThatOthersCanReplaceIsNotRun() throws Exception {
        machine.smi.fault("touch " + folder.resolve("called"));
        Files.setPosixFilePermissions(machine.smi.path(), PosixFilePermissions.fromString("rwxrwxr-x"));
        assertUntrusted("others can write " + machine.smi.path());
        Files.setPosixFilePermissions(machine.smi.path(), PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xrwx"));
        assertUntrusted("others can write " + folder);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Requirements.root();
        Files.setAttribute(machine.smi.path(), "unix:uid", 65534);
        assertUntrusted(machine.smi.path() + " belongs to user 65534");
        assertThat(folder.resolve("called")).doesNotExist();
    }

    private ShellAgent impatient() {
        return machine.gpuTimeout(Duration.ofSeconds(1)).agent();
    }

    private void assertUntrusted(String why) throws Exception {
        assertThat(lost(look()).detail()).isEqualTo("%s is not used: %s".formatted(machine.smi.path(), why));
    }

    /** The answer would be as long as there are processes; no machine has so many. */
    @Test
    void thousandsOfProcessesAreTooMany() throws Exception {
        var lines = new StringBuilder();
        for (var pid = 100_000; pid < 104_097; pid++) {
            lines.append("echo '%s, %d, 1'\n".formatted(FakeNvidiaSmi.uuid(0), pid));
        }
        machine.smi.fault("case $1 in *compute*) " + lines + ";; esac");
        assertThat(lost(look()).detail()).contains("more processes than can be looked at");
        machine.smi.fault("case $1 in *compute*) "
                + lines.toString().lines().limit(4000).reduce("", (one, next) -> one + "\n" + next) + ";; esac");
        assertSeen(look());
    }

    private void assertFault(String fault, ProblemCode code, String words) throws Exception {
        machine.smi.fault(fault);
        var problem = lost(look());
        assertThat(problem.code()).isEqualTo(code);
        assertThat(problem.detail()).contains(words);
    }

    private void assertRecovers() throws Exception {
        machine.smi.noFault();
        assertSeen(look());
    }

    private void assertSeen(Host.Look look) {
        assertThat(problems(look)).isEmpty();
        assertThat(look.snapshot().missing()).isEmpty();
        assertThat(look.snapshot().processes()).extracting(GpuProcess::pid).containsExactly(child.pid());
        assertThat(look.snapshot().listedDevices()).containsExactlyInAnyOrder(0, 1);
    }

    private static Problem lost(Host.Look look) {
        assertThat(look.snapshot().missing()).containsExactly(Part.PROCESSES);
        assertThat(look.snapshot().processes()).isEmpty();
        assertThat(problems(look)).hasSize(1);
        return problems(look).getFirst();
    }

    private Host.Look look() throws Exception {
        return agent.look(machine.shell, Set.of());
    }

    private static List<Problem> problems(Host.Look look) {
        return look.snapshot().problems().stream()
                .filter(problem -> !problem.code().equals(ProblemCode.MISSING_PRIVILEGE))
                .toList();
    }
}
