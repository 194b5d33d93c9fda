package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.DeviceUsage;
import dev.genv.enforcer.model.device.MigInstance;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.gpu.SourceSelector;
import dev.genv.enforcer.node.gpu.nvml.NvmlSource;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A library and a program that describe the same machine: the node observes the same through both. */
@Timeout(600)
class NodeSourceTest {
    private static final long MEBIBYTE = 1 << 20;
    private static final SourceSelector.Options NVML = new SourceSelector.Options(true, false, true);
    private static final SourceSelector.Options NVIDIA_SMI = new SourceSelector.Options(false, true, true);
    private static final SourceSelector.Options AUTO = new SourceSelector.Options(true, true, true);

    private final Path folder;
    private final FakeNvidiaSmi smi;
    private final FakeNvml nvml;
    private final Child first = Child.withEnvironment(Map.of());
    private final Child second = Child.withEnvironment(Map.of());

    NodeSourceTest(@TempDir Path folder) throws IOException {
        this.folder = folder;
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        nvml = new FakeNvml(folder.resolve("lib")).gpus(2);
    }

    @AfterEach
    void endProcesses() throws Exception {
        first.close();
        second.close();
    }

    /** A change of the machine, for both. */
    interface Change {
        void apply(NodeSourceTest machine) throws IOException;
    }

    record Case(String name, Change change) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Case> machines() {
        return Stream.of(
                new Case("no process", _ -> {}),
                new Case("a process", machine -> machine.list(0, machine.first, 5)),
                new Case("a process on several devices", machine -> {
                    machine.list(0, machine.first, 5);
                    machine.list(1, machine.first, 7);
                }),
                new Case("several processes on a device", machine -> {
                    machine.list(1, machine.first, 5);
                    machine.list(1, machine.second, 7);
                }),
                new Case("unknown memory", machine -> {
                    machine.smi.process(0, machine.first.pid(), "[N/A]");
                    machine.nvml.process(0, machine.first.pid(), -1);
                }),
                new Case("a process in both lists of a device", machine -> {
                    machine.list(0, machine.first, 5);
                    machine.nvml.line("process 0 g %d %d".formatted(machine.first.pid(), 5 * MEBIBYTE));
                }),
                new Case(
                        "a process with a graphics context only",
                        machine -> machine.nvml.line("process 0 g %d %d".formatted(machine.first.pid(), 5 * MEBIBYTE))),
                new Case("many processes", machine -> {
                    for (var count = 0; count < 40; count++) {
                        machine.list(0, machine.first, 1);
                    }
                    machine.list(1, machine.second, 1);
                    machine.nvml.retain(line -> !line.startsWith("process 0"));
                    machine.nvml.process(0, machine.first.pid(), 40 * MEBIBYTE);
                }),
                new Case("processes on MIG devices", machine -> {
                    machine.nvml.line("mig 0 2").line("instance 0 0 1 0").line("instance 0 1 2 0");
                    machine.listOfInstance(machine.first, 5, 1);
                    machine.listOfInstance(machine.second, 7, 2);
                }),
                new Case("a lost GPU", machine -> {
                    machine.list(0, machine.first, 5);
                    machine.smi.gpuLines("0, %s, 16384\n1, [GPU is lost], [GPU is lost]\n".formatted(uuid(0)));
                    machine.nvml.fail("nvmlDeviceGetHandleByIndex_v2", 15, 1);
                }),
                new Case("a driver of another version", machine -> {
                    machine.smi.fault("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");
                    machine.nvml.fail("nvmlInit_v2", 18);
                }),
                new Case("no access", machine -> {
                    machine.smi.fault("echo 'Failed to initialize NVML: Unknown Error'; exit 255");
                    machine.nvml.fail("nvmlInit_v2", 999);
                }),
                new Case("no device", machine -> {
                    machine.smi.gpus(0);
                    machine.nvml.gpus(0);
                }));
    }

    @ParameterizedTest
    @MethodSource("machines")
    void bothSourcesGiveTheSameSnapshot(Case machine) throws Exception {
        machine.change.apply(this);
        var expected = observe(NVIDIA_SMI);
        // Without the comparison of the sources: it has a test of its own.
        var found = observeByNvmlAlone();
        assertThat(expected.gpuSource()).isEqualTo("nvidia-smi");
        assertThat(found.gpuSource()).isEqualTo("nvml");
        assertThat(withoutInstances(found.snapshot())).isEqualTo(withoutInstances(expected.snapshot()));
        assertThat(found.snapshot().listedDevices())
                .isEqualTo(expected.snapshot().listedDevices());
        assertThat(found.snapshot().missing()).isEqualTo(expected.snapshot().missing());
        assertThat(codes(found)).isEqualTo(codes(expected));
    }

    @Test
    void comparisonTakesNvml() throws Exception {
        list(0, first, 5);
        list(1, second, 7);
        var observation = observe(AUTO);
        assertThat(observation.gpuSource()).isEqualTo("nvml");
        assertThat(observation.gpuSourceReason()).isEqualTo("NVML and nvidia-smi list the same");
        assertThat(observation.snapshot().processes()).hasSize(2);
    }

    @Test
    void comparisonTakesNvidiaSmiIfProcessesDiffer() throws Exception {
        smi.process(0, first.pid(), "5");
        nvml.process(0, second.pid(), MEBIBYTE);
        var host = new NodeBuilder(folder.resolve("genv"), smi.path())
                .gpus(selector(AUTO, smi.path()))
                .host();
        for (var cycle = 0; cycle < 3; cycle++) {
            var observation = host.observe(Set.of());
            assertThat(observation.gpuSource()).isEqualTo("nvidia-smi");
            assertThat(observation.snapshot().processes())
                    .extracting(GpuProcess::pid)
                    .containsExactly(first.pid());
        }
        var last = host.observe(Set.of());
        assertThat(codes(last)).containsExactly(ProblemCode.GPU_SOURCES_DIFFER);
        assertThat(last.gpuSourceReason()).isEqualTo("NVML is not trusted");
        assertThat(last.snapshot().missing()).isEmpty();
    }

    @Test
    void migDevicesAreInTheSnapshot() throws Exception {
        nvml.line("mig 0 2").line("instance 0 0 1 0").line("instance 0 1 2 0");
        listOfInstance(first, 5, 1);
        assertThat(observeByNvmlAlone().snapshot().processes())
                .singleElement()
                .satisfies(process -> assertThat(process.usage())
                        .singleElement()
                        .satisfies(use -> {
                            assertThat(use.device()).isZero();
                            assertThat(use.instances()).containsExactly(new MigInstance(1, 0));
                        }));
    }

    @Test
    void hangingDriverIsAProblemOfTheHost() throws Exception {
        var end = folder.resolve("end");
        nvml.hang("nvmlDeviceGetCount_v2", end);
        var source = new SourceSelector(
                NVML,
                new NvmlSource(nvml.path().toString(), Duration.ofMillis(200)),
                new NvidiaSmi(smi.path().toString(), TestTimeouts.HANG));
        var host =
                new NodeBuilder(folder.resolve("genv"), smi.path()).gpus(source).host();
        for (var cycle = 0; cycle < 3; cycle++) {
            var observation = host.observe(Set.of());
            assertThat(codes(observation)).containsExactly(ProblemCode.GPU_TOOL_FAILED);
            assertThat(observation.snapshot().missing()).containsExactly(SnapshotPart.PROCESSES);
        }
        Files.createFile(end);
    }

    private void list(int gpu, Child process, long mebibytes) throws IOException {
        smi.process(gpu, process.pid(), Long.toString(mebibytes));
        nvml.process(gpu, process.pid(), mebibytes * MEBIBYTE);
    }

    private void listOfInstance(Child process, long mebibytes, int instance) throws IOException {
        smi.process(0, process.pid(), Long.toString(mebibytes));
        nvml.line("process 0 c %d %d %d 0".formatted(process.pid(), mebibytes * MEBIBYTE, instance));
    }

    private Observation observe(SourceSelector.Options options) throws Exception {
        return observe(selector(options, smi.path()));
    }

    private Observation observeByNvmlAlone() throws Exception {
        return observe(selector(NVML, folder.resolve("none")));
    }

    private Observation observe(SourceSelector source) throws Exception {
        var host =
                new NodeBuilder(folder.resolve("genv"), smi.path()).gpus(source).host();
        return host.observe(Set.of());
    }

    private SourceSelector selector(SourceSelector.Options options, Path tool) {
        return new SourceSelector(
                options,
                new NvmlSource(nvml.path().toString(), TestTimeouts.HANG),
                new NvidiaSmi(tool.toString(), TestTimeouts.HANG));
    }

    private static String uuid(int index) {
        return FakeNvidiaSmi.uuid(index);
    }

    private static List<GpuProcess> withoutInstances(Snapshot snapshot) {
        return snapshot.processes().stream()
                .map(process -> new GpuProcess(
                        process.id(),
                        process.uid(),
                        process.command(),
                        process.membership(),
                        process.usage().stream()
                                .map(use -> new DeviceUsage(use.device(), use.memory()))
                                .toList(),
                        process.immunity()))
                .toList();
    }

    private static List<ProblemCode> codes(Observation observation) {
        return observation.snapshot().problems().stream()
                .map(Problem::code)
                .filter(code -> code != ProblemCode.MISSING_PRIVILEGE)
                .distinct()
                .toList();
    }
}
