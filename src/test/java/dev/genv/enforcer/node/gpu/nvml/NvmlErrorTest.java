package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.facts.NvmlFacts.Failed;
import dev.genv.enforcer.format.gpu.NvmlCode;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.ValueSource;

/** What an error of NVML leaves unknown: a value, a GPU, or all GPUs. */
class NvmlErrorTest {
    private static final String COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3";
    private static final int UNDEFINED = 12345;

    @TempDir
    private Path folder;

    private FakeNvml nvml;

    @BeforeEach
    void twoGpus() throws IOException {
        nvml = new FakeNvml(folder).gpus(2).process(0, 11, 300).process(1, 12, 300);
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "SUCCESS")
    void everyErrorOfTheInitializationLeavesAllGpusUnknown(NvmlCode code) throws Exception {
        nvml.fail("nvmlInit_v2", code.number());
        try (var source = Sources.of(nvml)) {
            var failure = Sources.failure(source.read());
            assertThat(failure.cause()).isEqualTo(Cause.ERROR);
            assertThat(failure.code()).isEqualTo(code.number());
            assertThat(failure.reason()).startsWith("nvmlInit_v2 failed: ").endsWith("(" + code.number() + ")");
        }
    }

    @Test
    void namesTheErrorInTheWordsOfNvml() throws Exception {
        nvml.fail("nvmlDeviceGetCount_v2", 999);
        try (var source = Sources.of(nvml)) {
            assertThat(source.read())
                    .isEqualTo(new Failed(Cause.ERROR, 999, "nvmlDeviceGetCount_v2 failed: Unknown Error (999)"));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.EXCLUDE, names = "SUCCESS")
    void everyErrorOfAListOfProcessesLeavesAsMuchUnknownAsItsExtent(NvmlCode code) throws Exception {
        nvml.fail(COMPUTE, code.number(), 0);
        try (var source = Sources.of(nvml)) {
            var facts = source.read();
            if (NvmlCode.extentOf(code.number()) == NvmlCode.Extent.SOURCE) {
                assertThat(Sources.failure(facts).code()).isEqualTo(code.number());
                return;
            }
            var devices = Sources.devices(facts);
            var fault = Answer.fault(code.number(), COMPUTE);
            assertThat(devices.getFirst().compute()).isEqualTo(fault);
            assertThat(devices.getFirst().graphics())
                    .isEqualTo(NvmlCode.extentOf(code.number()) == NvmlCode.Extent.GPU ? fault : Answer.of(List.of()));
            assertThat(devices.get(1).compute()).isEqualTo(Answer.of(List.of(new DeviceProcess(12, 300L, null, null))));
        }
    }

    @Test
    void anUndefinedErrorLeavesOneValueUnknown() throws Exception {
        nvml.fail("nvmlDeviceGetMinorNumber", UNDEFINED, 1);
        try (var source = Sources.of(nvml)) {
            var device = Sources.devices(source.read()).get(1);
            assertThat(device.minor()).isEqualTo(Answer.fault(UNDEFINED, "nvmlDeviceGetMinorNumber"));
            assertThat(device.uuid()).isEqualTo(Answer.of(FakeNvidiaSmi.uuid(1)));
            assertThat(device.compute()).isEqualTo(Answer.of(List.of(new DeviceProcess(12, 300L, null, null))));
        }
    }

    /** The real library would crash with such a handle, and the fake one aborts. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 6, 13, 15, 16, 28, 999})
    void aGpuWithoutAHandleIsNotUsed(int code) throws Exception {
        nvml.fail("nvmlDeviceGetHandleByIndex_v2", code, 0);
        try (var source = Sources.of(nvml)) {
            var devices = Sources.devices(source.read());
            var fault = Answer.fault(code, "nvmlDeviceGetHandleByIndex_v2");
            var lost = devices.getFirst();
            assertThat(List.of(
                            lost.uuid(),
                            lost.minor(),
                            lost.memory(),
                            lost.compute(),
                            lost.graphics(),
                            lost.instances(),
                            lost.utilization()))
                    .allMatch(fault::equals);
            assertThat(devices.get(1).uuid()).isEqualTo(Answer.of(FakeNvidiaSmi.uuid(1)));
        }
    }

    @Test
    void noFurtherCallIsMadeForALostGpu() throws Exception {
        nvml.fail("nvmlDeviceGetUUID", 15, 0).recordCalls();
        try (var source = Sources.of(nvml)) {
            Sources.devices(source.read());
            assertThat(nvml.recordedCalls())
                    .containsSubsequence("nvmlDeviceGetUUID", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID")
                    .containsOnlyOnce("nvmlDeviceGetMinorNumber", COMPUTE);
        }
    }

    @Test
    void anUnknownDriverVersionCostsNothingElse() throws Exception {
        nvml.fail("nvmlSystemGetDriverVersion", 999);
        try (var source = Sources.of(nvml)) {
            assertThat(Sources.devices(source.read())).hasSize(2);
        }
    }
}
