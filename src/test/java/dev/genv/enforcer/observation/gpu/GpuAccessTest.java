package dev.genv.enforcer.observation.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.listed;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.GpuFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GpuAccessTest {
    private static final String BLOCKED = "Failed to initialize NVML: Unknown Error";
    private static final GpuFacts WORKING = listed(device(0, "GPU-0"));

    private final GpuAccess access = new GpuAccess();
    private final DeviceOrder order = new DeviceOrder();

    @ParameterizedTest
    @CsvSource({
        "4, false, true",
        "17, false, true",
        "999, false, true",
        "9, true, true",
        "9, false, false",
        "18, true, false",
        "15, true, false"
    })
    void errorOfNvmlIsAccessThatNeverWorked(int code, boolean driverIsLoaded, boolean denied) {
        var problem = review(failed(code), driverIsLoaded);
        assertThat(problem.code() == ProblemCode.GPU_ACCESS_DENIED).isEqualTo(denied);
        if (denied) {
            assertThat(problem.detail())
                    .startsWith("nvmlInit_v2 failed (%d): ".formatted(code))
                    .contains("no-cgroups");
        }
    }

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
    }

    @Test
    void accessThatWorkedAndWasLostNeedsANewContainer() {
        access.review(GpuListing.of(WORKING, order), WORKING, true);
        for (var facts : new GpuFacts[] {failed(999), failed(17), tool(255, BLOCKED)}) {
            assertThat(review(facts, true).code()).isEqualTo(ProblemCode.GPU_NEEDS_NEW_CONTAINER);
        }
    }

    /** A device that is not listed was not used. */
    @Test
    void machineWithoutDevicesIsNoAccessThatWorked() {
        access.review(GpuListing.of(listed(), order), listed(), true);
        assertThat(review(tool(255, BLOCKED), true).code()).isEqualTo(ProblemCode.GPU_ACCESS_DENIED);
    }

    @Test
    void otherFailureKeepsItsCode() {
        var hangs = new NvmlFacts.Failed(Cause.TIMEOUT, 0, "NVML does not answer");
        assertThat(review(hangs, true).code()).isEqualTo(ProblemCode.GPU_TOOL_FAILED);
    }

    private Problem review(GpuFacts facts, boolean driverIsLoaded) {
        var selected = new GpuFacts.SelectedFacts(facts, "a test", "");
        var found = access.review(GpuListing.of(selected, order), selected, driverIsLoaded);
        assertThat(found.missing()).containsExactly(SnapshotPart.PROCESSES);
        assertThat(found.problems()).hasSize(1);
        return found.problems().getFirst();
    }

    private static NvmlFacts failed(int code) {
        return new NvmlFacts.Failed(Cause.ERROR, code, "nvmlInit_v2 failed (%d)".formatted(code));
    }

    private static GpuFacts tool(int exitCode, String message) {
        var stdout = Bytes.of((message + "\n").getBytes(StandardCharsets.UTF_8));
        return new ToolFacts(
                Reading.of(new ToolOutput(exitCode, stdout, Bytes.EMPTY)), Reading.failed(Reading.Failure.SKIPPED, ""));
    }
}
