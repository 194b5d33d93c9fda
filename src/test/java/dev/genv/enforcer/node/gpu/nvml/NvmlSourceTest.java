package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.facts.NvmlFacts.Listed;
import dev.genv.enforcer.facts.NvmlFacts.MemoryUse;
import dev.genv.enforcer.facts.NvmlFacts.Utilization;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
                                            Answer.of(new MemoryUse(1000, 400)),
                                            Answer.of(List.of(new DeviceProcess(11, 300L, null, null))),
                                            Answer.of(List.of(new DeviceProcess(12, 100L, null, null))),
                                            Answer.of(List.of()),
                                            Answer.of(List.of(new Utilization(11, 5000, 70)))),
                                    new Device(
                                            1,
                                            Answer.of("GPU-b"),
                                            Answer.of(4),
                                            Answer.of(new MemoryUse(2000, 0)),
                                            Answer.of(List.of(new DeviceProcess(11, null, null, null))),
                                            Answer.of(List.of()),
                                            Answer.of(List.of()),
                                            Answer.of(List.of())))));
        }
    }
}
