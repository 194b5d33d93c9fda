package dev.genv.enforcer.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.DeviceUsage.MigInstance;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.gpu.SourceSelector;
import dev.genv.enforcer.node.gpu.nvml.NvmlSource;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.TestTimeouts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the node observes if NVML differs from nvidia-smi, says more, or hangs. */
@Timeout(600)
class SourceComparisonTest extends NodeSources {
    private static final SourceSelector.Options AUTO = new SourceSelector.Options(true, true, true);

    SourceComparisonTest(@TempDir Path folder) throws IOException {
        super(folder);
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
}
