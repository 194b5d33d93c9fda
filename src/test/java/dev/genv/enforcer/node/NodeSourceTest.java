package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.device.DeviceUsage;
import dev.genv.enforcer.node.gpu.SourceSelector;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A library and a program that describe the same machine: the node observes the same through both. */
@Timeout(600)
class NodeSourceTest extends NodeSources {
    private static final SourceSelector.Options NVIDIA_SMI = new SourceSelector.Options(false, true, true);

    NodeSourceTest(@TempDir Path folder) throws IOException {
        super(folder);
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
}
