package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi.uuid;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.GpuListing;
import dev.genv.enforcer.observation.GpuListing.DeviceOrder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Failures of the tool, and when the devices are queried again. */
@Timeout(600)
class NvidiaSmiCacheTest {
    /** A process that runs: the fake one, like the driver, lists no other. */
    private static final int PID = (int) ProcessHandle.current().pid();

    private static final String QUERY_DEVICES = "--query-gpu=index,uuid,memory.used";
    private static final String QUERY_PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory";
    private final FakeNvidiaSmi fake;
    private final NvidiaSmi smi;
    private final DeviceOrder order = new DeviceOrder();

    NvidiaSmiCacheTest(@TempDir Path folder) throws IOException {
        fake = new FakeNvidiaSmi(folder.resolve("bin"));
        smi = new NvidiaSmi(fake.path().toString(), HANG);
    }

    @ParameterizedTest
    @ValueSource(strings = {"kill -9 $$", "echo '%s, 1, 1'; kill -9 $$"})
    void outputOfAKilledToolIsIgnored(String fault) throws IOException {
        fake.gpus(1).fault(fault.formatted(uuid(0)));
        assertThatThrownBy(() -> list(smi))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("nvidia-smi exited with 137");
    }

    @Test
    void hangingToolTimesOut() throws IOException {
        fake.gpus(1).fault("exec sleep 600");
        var shortTimeoutConnection = new NvidiaSmi(fake.path().toString(), Duration.ofMillis(200));
        assertThatThrownBy(() -> list(shortTimeoutConnection))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("did not exit within 200 ms");
    }

    @Test
    void findsAToolThatIsInstalledLater() throws Exception {
        fake.gpus(1);
        var hidden = Files.move(fake.path(), fake.path().resolveSibling("hidden"));
        assertThatThrownBy(() -> list(smi)).isInstanceOf(ToolException.class).hasMessageContaining("is not a program");
        Files.move(hidden, fake.path());
        assertThat(list(smi).devices()).containsExactly(0);
    }

    @Test
    void queriesTheDevicesOnlyOnce() throws Exception {
        fake.gpus(1).fault("echo \"$1\" >>\"$0.calls\"");
        list(smi);
        fake.process(0, PID, "5");
        list(smi);
        assertThat(calls()).containsExactly(QUERY_PROCESSES, QUERY_DEVICES, QUERY_PROCESSES);
    }

    @Test
    void queriesTheDevicesAgainWhereTheirMemoryMustBeCurrent() throws Exception {
        fake.gpus(1).fault("echo \"$1\" >>\"$0.calls\"");
        assertThat(smi.read().devicesAreCurrent()).isTrue();
        assertThat(smi.read().devicesAreCurrent()).isFalse();
        smi.forgetDevices();
        assertThat(smi.read().devicesAreCurrent()).isTrue();
        assertThat(calls())
                .containsExactly(QUERY_PROCESSES, QUERY_DEVICES, QUERY_PROCESSES, QUERY_PROCESSES, QUERY_DEVICES);
    }

    @Test
    void queriesTheDevicesAgainForAnUnknownDevice() throws Exception {
        fake.gpus(1).fault("echo \"$1\" >>\"$0.calls\"");
        list(smi);
        fake.gpus(2).process(1, PID, "5");
        var listing = list(smi);
        assertThat(listing.devices()).containsExactlyInAnyOrder(0, 1);
        assertThat(listing.usage()).containsEntry(PID, List.of(uses(1, 5)));
        assertThat(listing.problems()).isEmpty();
        assertThat(calls()).containsExactly(QUERY_PROCESSES, QUERY_DEVICES, QUERY_PROCESSES, QUERY_DEVICES);
    }

    @Test
    void queriesTheDevicesAgainAfterAFailure() throws Exception {
        fake.gpuLines("0, a, 1\n1, b, 1\n").process("b", Integer.toString(PID), "5");
        assertThat(list(smi).usage()).containsEntry(PID, List.of(uses(1, 5)));
        fake.fault("exit 9");
        assertThatThrownBy(() -> list(smi)).isInstanceOf(ToolException.class);
        fake.noFault().gpuLines("0, b, 1\n");
        assertThat(list(smi).usage()).containsEntry(PID, List.of(uses(0, 5)));
    }

    /** The list of devices is kept, and what is wrong with it must not look mended meanwhile. */
    @Test
    void lostDeviceIsReportedEveryTime() throws Exception {
        fake.gpuLines("0, a, 1\n1, [GPU is lost], [GPU is lost]\n");
        for (var observation = 0; observation < 2; observation++) {
            assertThat(list(smi).problems()).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
        }
    }

    @Test
    void allDevicesAreLostWhenNoneIsFoundAnyMore() throws Exception {
        fake.gpus(4);
        list(smi);
        fake.gpuLines("");
        var listing = list(smi);
        assertThat(listing.devices()).isEmpty();
        assertThat(listing.problems()).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
    }

    /** The list of devices is kept, but a process that is no longer listed may have gone with its device. */
    @Test
    void queriesTheDevicesAgainAfterAProcessHasLeft() throws Exception {
        fake.gpus(2).process(1, PID, "5");
        list(smi);
        fake.gpus(1).noProcesses();
        assertThat(list(smi).problems()).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
    }

    @Test
    void queriesTheDevicesAgainWhileADeviceIsLost() throws Exception {
        fake.gpus(2).process(1, PID, "5");
        list(smi);
        fake.gpus(1).noProcesses();
        list(smi);
        fake.gpus(2);
        assertThat(list(smi).problems()).isEmpty();
    }

    @Test
    void contradictoryAnswersAreAFailure() throws Exception {
        fake.gpus(2).fault("case $1 in *apps*) echo 'No devices were found'; exit 6 ;; esac");
        assertThatThrownBy(() -> list(smi))
                .isInstanceOf(ToolException.class)
                .hasMessage("nvidia-smi found no devices at first, and then 2");
    }

    private GpuListing list(NvidiaSmi tool) throws ToolException, InterruptedException {
        var found = GpuListing.of(tool.read(), order);
        if (found.missing().contains(SnapshotPart.PROCESSES)) {
            var problem = found.problems().getFirst();
            throw new ToolException(problem.code(), problem.detail(), null);
        }
        return found;
    }

    private List<String> calls() throws IOException {
        return Files.readAllLines(fake.path().resolveSibling("nvidia-smi.calls"));
    }

    private static DeviceUsage uses(int device, long mebibytes) {
        return new DeviceUsage(device, Memory.ofMebibytes(mebibytes));
    }
}
