package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.facts.NvmlFacts.Failed;
import dev.genv.enforcer.facts.NvmlFacts.Listed;
import dev.genv.enforcer.facts.NvmlFacts.MemoryUse;
import dev.genv.enforcer.facts.NvmlFacts.Utilization;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What NVML answers becomes facts. */
class NvmlSourceTest {
    @TempDir
    private Path folder;

    @Test
    void readsAllGpus() throws Exception {
        var nvml = new FakeNvml(folder)
                .line("driver 570.86.15")
                .line("device 0 GPU-a 3 1000 400")
                .line("device 1 GPU-b 4 2000 0")
                .line("process 0 c 11 300")
                .line("process 0 g 12 100")
                .line("process 1 c 11 -1")
                .line("sample 0 11 5000 70");
        try (var source = Sources.of(nvml)) {
            assertThat(source.read())
                    .isEqualTo(new Listed(
                            Answer.of("570.86.15"),
                            List.of(
                                    new Device(
                                            0,
                                            Answer.of("GPU-a"),
                                            Answer.of(3),
                                            Answer.of(new MemoryUse(1000, 400, false)),
                                            Answer.of(List.of(new DeviceProcess(11, 300L, null, null))),
                                            Answer.of(List.of(new DeviceProcess(12, 100L, null, null))),
                                            Answer.of(List.of()),
                                            Answer.of(List.of(new Utilization(11, 5000, 70))),
                                            null),
                                    new Device(
                                            1,
                                            Answer.of("GPU-b"),
                                            Answer.of(4),
                                            Answer.of(new MemoryUse(2000, 0, false)),
                                            Answer.of(List.of(new DeviceProcess(11, null, null, null))),
                                            Answer.of(List.of()),
                                            Answer.of(List.of()),
                                            Answer.of(List.of()),
                                            null))));
        }
    }

    @Test
    void readsAMachineWithoutGpus() throws Exception {
        try (var source = Sources.of(new FakeNvml(folder).line("driver 535.183.01"))) {
            assertThat(source.read()).isEqualTo(new Listed(Answer.of("535.183.01"), List.of()));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"1025", "4294967295"})
    void refusesAnImpossibleNumberOfGpus(String count) throws Exception {
        try (var source = Sources.of(new FakeNvml(folder).gpus(1).line("claim nvmlDeviceGetCount_v2 " + count))) {
            assertThat(source.read())
                    .isEqualTo(new Failed(
                            Cause.LAYOUT,
                            0,
                            "NVML is not used: nvmlDeviceGetCount_v2 counted %s devices".formatted(count)));
        }
    }

    /** A GPU that disappears between two calls. */
    @Test
    void aGpuThatIsCountedButCannotBeLookedUpIsKnownByItsError() throws Exception {
        try (var source = Sources.of(new FakeNvml(folder).gpus(1).line("claim nvmlDeviceGetCount_v2 2"))) {
            var devices = Sources.devices(source.read());
            assertThat(devices).extracting(Device::index).containsExactly(0, 1);
            assertThat(devices.get(1).uuid()).isEqualTo(Answer.fault(2, "nvmlDeviceGetHandleByIndex_v2"));
        }
    }

    @Test
    void reportsALibraryThatIsTooOld() throws Exception {
        try (var source = Sources.of(new FakeNvml(folder, "V2", "V3"))) {
            assertThat(source.read())
                    .isEqualTo(new Failed(
                            Cause.LIBRARY,
                            0,
                            "NVML is too old: it has no function nvmlDeviceGetComputeRunningProcesses_v2"));
        }
    }

    @Test
    void reportsALibraryThatIsMissing() throws Exception {
        var missing = folder.resolve("libnvidia-ml.so.1");
        try (var source = new NvmlSource(missing.toString(), Duration.ofMinutes(2))) {
            assertThat(source.read()).isEqualTo(new Failed(Cause.LIBRARY, 0, missing + " does not exist"));
        }
    }
}
