package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.facts.NvmlFacts.MigDevice;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The MIG devices of a GPU, and their processes, belong to the GPU. */
class MigTest {
    private static final String COMPUTE = "nvmlDeviceGetComputeRunningProcesses_v3";
    private static final String HANDLE = "nvmlDeviceGetMigDeviceHandleByIndex";
    private static final DeviceProcess FIRST = new DeviceProcess(11, 300L, 1, 0);
    private static final DeviceProcess SECOND = new DeviceProcess(12, 200L, 5, 1);
    private static final DeviceProcess DRAWING = new DeviceProcess(13, 100L, 5, 1);

    @TempDir
    private Path folder;

    private FakeNvml nvml;

    /** The GPU has seven slots and two MIG devices. */
    @BeforeEach
    void gpuWithMig() throws IOException {
        nvml = new FakeNvml(folder)
                .gpus(2)
                .line("mig 1 7")
                .line("instance 1 0 1 0")
                .line("instance 1 4 5 1")
                .line("process 1 c 11 300 1 0")
                .line("process 1 c 12 200 5 1")
                .line("process 1 g 13 100 5 1");
    }

    @Test
    void readsThePrivilegedListOfTheGpuAndTheListsOfItsMigDevices() throws Exception {
        var gpu = gpu();
        assertThat(gpu.index()).isEqualTo(1);
        assertThat(gpu.uuid()).isEqualTo(Answer.of(FakeNvidiaSmi.uuid(1)));
        assertThat(gpu.compute()).isEqualTo(Answer.of(List.of(FIRST, SECOND)));
        assertThat(gpu.graphics()).isEqualTo(Answer.of(List.of(DRAWING)));
        assertThat(gpu.instances())
                .isEqualTo(Answer.of(List.of(
                        new MigDevice(0, Answer.of(List.of(FIRST)), Answer.of(List.of())),
                        new MigDevice(4, Answer.of(List.of(SECOND)), Answer.of(List.of(DRAWING))))));
    }

    @Test
    void withoutThePrivilegeTheMigDevicesListTheProcesses() throws Exception {
        nvml.fail(COMPUTE, 4, 1);
        var gpu = gpu();
        assertThat(gpu.compute()).isEqualTo(Answer.fault(4, COMPUTE));
        assertThat(gpu.instances())
                .isEqualTo(Answer.of(List.of(
                        new MigDevice(0, Answer.of(List.of(FIRST)), Answer.of(List.of())),
                        new MigDevice(4, Answer.of(List.of(SECOND)), Answer.of(List.of(DRAWING))))));
    }

    @Test
    void anErrorOfOneMigDeviceCostsItsProcesses() throws Exception {
        nvml.fail(COMPUTE, 4, 1000 + 10 + 4);
        assertThat(gpu().instances())
                .isEqualTo(Answer.of(List.of(
                        new MigDevice(0, Answer.of(List.of(FIRST)), Answer.of(List.of())),
                        new MigDevice(4, Answer.fault(4, COMPUTE), Answer.of(List.of(DRAWING))))));
    }

    @Test
    void aMigDeviceWithoutAHandleIsNotUsed() throws Exception {
        nvml.fail(HANDLE, 4, 1);
        var fault = Answer.<List<DeviceProcess>>fault(4, HANDLE);
        assertThat(gpu().instances())
                .isEqualTo(Answer.of(List.of(
                        new MigDevice(0, fault, fault),
                        new MigDevice(1, fault, fault),
                        new MigDevice(2, fault, fault),
                        new MigDevice(3, fault, fault),
                        new MigDevice(4, fault, fault),
                        new MigDevice(5, fault, fault),
                        new MigDevice(6, fault, fault))));
    }

    @Test
    void aLostGpuHasNoKnownMigDevices() throws Exception {
        nvml.fail("nvmlDeviceGetMaxMigDeviceCount", 15, 1);
        assertThat(gpu().instances()).isEqualTo(Answer.fault(15, "nvmlDeviceGetMaxMigDeviceCount"));
    }

    @Test
    void theModeIsUnknownAfterAnError() throws Exception {
        nvml.fail("nvmlDeviceGetMigMode", 999, 1);
        assertThat(gpu().instances()).isEqualTo(Answer.fault(999, "nvmlDeviceGetMigMode"));
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 13})
    void aGpuWithoutMigHasNoMigDevices(int code) throws Exception {
        nvml.fail("nvmlDeviceGetMigMode", code, 1);
        assertThat(gpu().instances()).isEqualTo(Answer.of(List.of()));
    }

    @Test
    void aDriverOlderThanMigHasNoMigDevices() throws Exception {
        nvml = new FakeNvml(folder.resolve("old"), "MIG").gpus(2).line("process 1 c 11 300");
        assertThat(gpu().instances()).isEqualTo(Answer.of(List.of()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"65", "4294967295"})
    void refusesAnImpossibleNumberOfSlots(String count) throws Exception {
        nvml.line("claim nvmlDeviceGetMaxMigDeviceCount " + count);
        try (var source = Sources.of(nvml)) {
            var failure = Sources.failure(source.read());
            assertThat(failure.cause()).isEqualTo(Cause.LAYOUT);
            assertThat(failure.reason())
                    .isEqualTo("NVML is not used: nvmlDeviceGetMaxMigDeviceCount counted %s MIG devices", count);
        }
    }

    private Device gpu() throws InterruptedException {
        try (var source = Sources.of(nvml)) {
            var devices = Sources.devices(source.read());
            assertThat(devices.getFirst().instances()).isEqualTo(Answer.of(List.of()));
            return devices.get(1);
        }
    }
}
