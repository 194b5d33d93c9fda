package dev.genv.enforcer.observation;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.GpuListing.DeviceStatuses;
import dev.genv.enforcer.observation.GpuListing.GpuHistory;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GpuListingTest {
    private final GpuHistory gpus = new GpuHistory();
    private final Findings findings = new Findings();

    @ParameterizedTest
    @CsvSource({
        "Failed to initialize NVML: Unknown Error, 255, false, GPU_ACCESS_DENIED",
        "Failed to initialize NVML: Insufficient Permissions, 4, false, GPU_ACCESS_DENIED",
        "Failed to initialize NVML: GPU access blocked by the operating system, 17, false, GPU_ACCESS_DENIED",
        "NVIDIA-SMI has failed, 9, true, GPU_ACCESS_DENIED",
        "NVIDIA-SMI has failed, 9, false, GPU_TOOL_FAILED",
        "Unable to determine the device handle for GPU0, 17, true, GPU_LOST",
        "Failed to initialize NVML: Driver/library version mismatch, 18, true, GPU_TOOL_FAILED"
    })
    void messageOfNvidiaSmiIsAccessThatNeverWorked(
            String message, int exitCode, boolean driverIsLoaded, ProblemCode code) {
        var problem = problem(tool(exitCode, message), driverIsLoaded);
        assertThat(problem.code()).isEqualTo(code);
        assertThat(problem.detail()).startsWith("nvidia-smi exited with %d: %s".formatted(exitCode, message));
        assertThat(problem.detail().contains("no-cgroups")).isEqualTo(code == ProblemCode.GPU_ACCESS_DENIED);
    }

    /** A device that is not listed was not used. */
    @Test
    void machineWithoutDevicesIsNoAccessThatWorked() {
        gpus.interpretInContainer(
                new GpuFacts(output(0, "No devices were found"), output(0, "No devices were found")), true);
        assertThat(problem(tool(255, "Failed to initialize NVML: Unknown Error"), true)
                        .code())
                .isEqualTo(ProblemCode.GPU_ACCESS_DENIED);
    }

    private Problem problem(GpuFacts facts, boolean driverIsLoaded) {
        var found = gpus.interpretInContainer(facts, driverIsLoaded);
        assertThat(found.missing()).containsExactly(SnapshotPart.PROCESSES);
        assertThat(found.problems()).hasSize(1);
        return found.problems().getFirst();
    }

    private static GpuFacts tool(int exitCode, String message) {
        return new GpuFacts(output(exitCode, message), Reading.failed(Failure.SKIPPED, ""));
    }

    private static Reading<ToolOutput> output(int exitCode, String text) {
        return Reading.of(new ToolOutput(exitCode, Bytes.of(text.getBytes(UTF_8)), Bytes.EMPTY));
    }

    @Test
    void deviceMissingAfterARebootIsNotLost() {
        gpus.recordBoot("one");
        gpus.findLost(Map.of("a", 0, "b", 1));
        gpus.recordBoot("one");
        assertThat(gpus.findLost(Map.of("a", 0))).isPresent();
        gpus.recordBoot("two");
        assertThat(gpus.findLost(Map.of("a", 0))).isEmpty();
    }

    @Test
    void readsEachFieldOfTheStatus() {
        var lines = "1, 220, 16384, -3, 100, 249.51, A,B\n0,1,2,61,0,5,A\n0, 5, 6, 7, 8, 9, second\n";
        assertThat(statuses(output(0, lines)))
                .containsExactly(
                        new DeviceStatus(0, 61, 0, Memory.ofMebibytes(1), Memory.ofMebibytes(2), 5, "A"),
                        new DeviceStatus(1, -3, 100, Memory.ofMebibytes(220), Memory.ofMebibytes(16384), 249, "A,B"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]",
                "0, [Not Supported], [GPU is lost], [Unknown Error], [Insufficient Permissions], [N/A], [Unknown"
                        + " Error]",
                "0, -1, 1.5, 1000, 101, -5.0, ",
                "0, , , , , , ",
                "0, 1234567890123, 99999999999999999999, 61 C, 5 %, 5 W, "
            })
    void anotherTextIsUnknown(String line) {
        assertThat(statuses(output(0, line))).containsExactly(new DeviceStatus(0, null, null, null, null, null, null));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "0, 1, 2, 3", "0, 1, 2, 3, 4, 5", "x, 1, 2, 3, 4, 5, A", "-1, 1, 2, 3, 4, 5, A"})
    void anotherLineIsLeftOut(String line) {
        assertThat(statuses(output(0, line))).isEmpty();
    }

    /** No part of the snapshot is missing for it. */
    @ParameterizedTest
    @CsvSource({
        "'Field \"x\" is not a valid field to query.', 2, nvidia-smi exited with 2: Field \"x\" is not a valid field"
                + " to query.",
        "it hangs,, it hangs"
    })
    void failedQueryForTheStatusIsAProblem(String text, @Nullable Integer exitCode, String problem) {
        assertThat(statuses(exitCode == null ? Reading.failed(Failure.TIMEOUT, text) : output(exitCode, text)))
                .isEmpty();
        assertThat(findings.problems()).containsExactly(new Problem(ProblemCode.DEVICE_STATUS_UNKNOWN, problem));
        assertThat(findings.missing()).isEmpty();
    }

    @Test
    void queryThatWasNotMadeIsNoProblem() {
        assertThat(statuses(GpuFacts.NOT_ASKED)).isEmpty();
        assertThat(findings.problems()).isEmpty();
    }

    private List<DeviceStatus> statuses(Reading<ToolOutput> answer) {
        return DeviceStatuses.of(new GpuFacts(output(0, ""), output(0, "")).withStatus(answer), findings);
    }
}
