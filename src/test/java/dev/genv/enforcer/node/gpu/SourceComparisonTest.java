package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.inBytes;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.listed;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.format.gpu.GpuDevices;
import dev.genv.enforcer.format.gpu.GpuLine;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SourceComparisonTest {
    private static final String BOTH = "0, GPU-0, 16384\n1, GPU-1, 16384\n";

    @Test
    void sameDevicesAndProcessesDoNotDiffer() {
        assertThat(difference(
                        "GPU-0, 812, 5\nGPU-1, 812, 5\n",
                        BOTH,
                        listed(
                                device(0, "GPU-0").process(812, null),
                                device(1, "GPU-1").process(812, 99L))))
                .isEmpty();
        assertThat(difference("", "", listed())).isEmpty();
    }

    @Test
    void processOnAnotherDeviceDiffers() {
        assertThat(difference("GPU-1, 812, 5\n", BOTH, listed(device(0, "GPU-0").process(812, 5L), device(1, "GPU-1"))))
                .contains("NVML lists process 812 on GPU-0, and nvidia-smi does not");
    }

    @Test
    void missingProcessDiffers() {
        assertThat(difference("GPU-1, 812, 5\n", BOTH, listed(device(0, "GPU-0"), device(1, "GPU-1"))))
                .contains("nvidia-smi lists process 812 on GPU-1, and NVML does not");
    }

    @Test
    void processThatNvidiaSmiListedOnceOnlyDoesNotDiffer() {
        var nvml = listed(device(0, "GPU-0"), device(1, "GPU-1"));
        var now = comparison("GPU-1, 813, 5\n", BOTH);
        assertThat(now.difference(nvml, nvml, Optional.of(comparison("GPU-0, 813, 5\nGPU-1, 812, 5\n", BOTH))))
                .isEmpty();
        assertThat(now.difference(nvml, nvml, Optional.of(comparison("GPU-1, 813, 5\n", BOTH))))
                .contains("nvidia-smi lists process 813 on GPU-1, and NVML does not");
    }

    @Test
    void otherDevicesDiffer() {
        assertThat(difference("", BOTH, listed(device(0, "GPU-0"))))
                .contains("NVML lists the devices [0: GPU-0], and nvidia-smi [0: GPU-0, 1: GPU-1]");
        assertThat(difference("", BOTH, listed(device(0, "GPU-0"), device(1, "GPU-2"))))
                .isPresent();
        assertThat(difference("", BOTH, listed(device(0, "GPU-1"), device(1, "GPU-0"))))
                .isPresent();
    }

    @Test
    void processOfAMigDeviceIsOnItsGpu() {
        var mig = Answer.of(List.of(inBytes(812, 5L, 1)));
        assertThat(difference(
                        "GPU-0, 812, 5\n",
                        "0, GPU-0, 1\n",
                        listed(device(0, "GPU-0").migDevice(0, mig))))
                .isEmpty();
    }

    @Test
    void graphicsProcessIsNotCompared() {
        assertThat(difference("", "0, GPU-0, 1\n", listed(device(0, "GPU-0").graphics(9, 1L))))
                .isEmpty();
    }

    @Test
    void devicesWithErrorsAreLeftOut() {
        var nvml = listed(device(0, "GPU-0").hidden(4), device(1, "").lost(15));
        assertThat(difference("GPU-0, 812, 5\nGPU-1, 813, 5\n", BOTH, nvml)).isEmpty();
        assertThat(difference(
                        "[GPU is lost], [GPU is lost], [GPU is lost]\n",
                        "0, GPU-0, 1\n1, [GPU is lost], [GPU is lost]\n",
                        listed(device(0, "GPU-0").process(812, 1L), device(1, "GPU-1"))))
                .isEmpty();
    }

    private static Optional<String> difference(String processes, String devices, NvmlFacts.Listed nvml) {
        return comparison(processes, devices).difference(nvml, nvml, Optional.empty());
    }

    private static SourceComparison comparison(String processes, String devices) {
        return new SourceComparison(
                GpuDevices.parse(devices.lines().toList()),
                GpuLine.parse(processes.lines().toList()));
    }
}
