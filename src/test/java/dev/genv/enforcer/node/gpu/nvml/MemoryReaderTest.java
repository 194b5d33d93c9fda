package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.MemoryUse;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryReaderTest {
    private static final String V2 = "nvmlDeviceGetMemoryInfo_v2";
    private static final String GPU = "device 0 GPU-a 0 17179869184 1073741824";

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({"MEMORY_V2, true", "MIG, false"})
    void readsTheMemoryWithAndWithoutTheNewerFunction(String without, boolean includesReserve) throws Exception {
        assertThat(memory(new FakeNvml(folder, without).line(GPU)))
                .isEqualTo(Answer.of(new MemoryUse(17179869184L, 1073741824, includesReserve)));
    }

    @ParameterizedTest
    @ValueSource(ints = {13, 25})
    void readsTheOlderStructureIfTheDriverDoesNotKnowTheNewerOne(int code) throws Exception {
        assertThat(memory(new FakeNvml(folder).line(GPU).fail(V2, code)))
                .isEqualTo(Answer.of(new MemoryUse(17179869184L, 1073741824, true)));
    }

    /** A GPU that shares the memory of the machine has none of its own. */
    @Test
    void theMemoryOfAnIntegratedGpuIsUnknown() throws Exception {
        assertThat(memory(new FakeNvml(folder).line(GPU).fail(V2, 3))).isEqualTo(Answer.fault(3, V2));
        assertThat(memory(new FakeNvml(folder.resolve("old"), "MEMORY_V2")
                        .line(GPU)
                        .fail("nvmlDeviceGetMemoryInfo", 3)))
                .isEqualTo(Answer.fault(3, "nvmlDeviceGetMemoryInfo"));
    }

    @Test
    void refusesAnImpossibleAmount() throws Exception {
        try (var source = Sources.of(new FakeNvml(folder).line("device 0 GPU-a 0 18446744073709551615 0"))) {
            assertThat(Sources.failure(source.read()).cause()).isEqualTo(Cause.LAYOUT);
        }
    }

    private static Answer<MemoryUse> memory(FakeNvml nvml) throws InterruptedException {
        try (var source = Sources.of(nvml)) {
            return Sources.devices(source.read()).getFirst().memory();
        }
    }
}
