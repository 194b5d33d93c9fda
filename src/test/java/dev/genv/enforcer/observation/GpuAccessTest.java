package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.GpuListing.DeviceOrder;
import dev.genv.enforcer.observation.GpuListing.GpuAccess;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GpuAccessTest {
    private static final String BLOCKED = "Failed to initialize NVML: Unknown Error";

    private final GpuAccess access = new GpuAccess();
    private final DeviceOrder order = new DeviceOrder();

    @ParameterizedTest
    @CsvSource({
        "Failed to initialize NVML: Unknown Error, 255, false, true",
        "Failed to initialize NVML: Insufficient Permissions, 4, false, true",
        "Failed to initialize NVML: x, 17, false, true",
        "NVIDIA-SMI has failed, 9, true, true",
        "NVIDIA-SMI has failed, 9, false, false",
        "Failed to initialize NVML: Driver/library version mismatch, 18, true, false"
    })
    void messageOfNvidiaSmiIsAccessThatNeverWorked(
            String message, int exitCode, boolean driverIsLoaded, boolean denied) {
        var problem = review(tool(exitCode, message), driverIsLoaded);
        assertThat(problem.code() == ProblemCode.GPU_ACCESS_DENIED).isEqualTo(denied);
        assertThat(problem.detail()).startsWith("nvidia-smi exited with %d: %s".formatted(exitCode, message));
        assertThat(problem.detail().contains("no-cgroups")).isEqualTo(denied);
    }

    /** A device that is not listed was not used. */
    @Test
    void machineWithoutDevicesIsNoAccessThatWorked() {
        var none = new GpuFacts(output(0, "No devices were found"), output(0, "No devices were found"));
        access.review(GpuListing.of(none, order), none, true);
        assertThat(review(tool(255, BLOCKED), true).code()).isEqualTo(ProblemCode.GPU_ACCESS_DENIED);
    }

    @Test
    void otherFailureKeepsItsCode() {
        var hangs = new GpuFacts(
                Reading.failed(Reading.Failure.TIMEOUT, "nvidia-smi did not exit within 5000 ms"),
                Reading.failed(Reading.Failure.SKIPPED, ""));
        assertThat(review(hangs, true).code()).isEqualTo(ProblemCode.GPU_TOOL_FAILED);
    }

    private Problem review(GpuFacts facts, boolean driverIsLoaded) {
        var found = access.review(GpuListing.of(facts, order), facts, driverIsLoaded);
        assertThat(found.missing()).containsExactly(SnapshotPart.PROCESSES);
        assertThat(found.problems()).hasSize(1);
        return found.problems().getFirst();
    }

    private static GpuFacts tool(int exitCode, String message) {
        return new GpuFacts(output(exitCode, message), Reading.failed(Reading.Failure.SKIPPED, ""));
    }

    private static Reading<ToolOutput> output(int exitCode, String line) {
        var stdout = Bytes.of((line + "\n").getBytes(StandardCharsets.UTF_8));
        return Reading.of(new ToolOutput(exitCode, stdout, Bytes.EMPTY));
    }

    @Test
    void deviceMissingAfterARebootIsNotLost() {
        order.recordBoot("one");
        order.findLost(Map.of("a", 0, "b", 1));
        order.recordBoot("one");
        assertThat(order.findLost(Map.of("a", 0))).isPresent();
        order.recordBoot("two");
        assertThat(order.findLost(Map.of("a", 0))).isEmpty();
    }
}
