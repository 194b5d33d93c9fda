package dev.genv.enforcer.observation.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.GpuFacts.SelectedFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.device.DeviceStatus;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.testsupport.builder.NvmlBuilder;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeviceStatusesTest {
    private static final Memory TOTAL = Memory.ofMebibytes(16384);
    private static final Found<List<DeviceStatus>> NONE = Found.of(List.of());

    @Test
    void bothSourcesGiveTheSame() {
        var expected = Found.of(List.of(new DeviceStatus(0, 61, 87, Memory.ZERO, TOTAL)));
        var nvml = NvmlBuilder.listed(device(0, "GPU-0").status(Answer.of(61), Answer.of(87)));
        assertThat(DeviceStatuses.of(nvml)).isEqualTo(expected);
        assertThat(DeviceStatuses.of(tool(0, "0, 0, 16384, 61, 87\n"))).isEqualTo(expected);
        assertThat(DeviceStatuses.of(new SelectedFacts(nvml, "", ""))).isEqualTo(expected);
    }

    @Test
    void anErrorOfNvmlIsUnknown() {
        var nvml = NvmlBuilder.listed(
                device(0, "GPU-0").status(Answer.fault(3, "t"), Answer.of(87)),
                device(1, "GPU-1").status(Answer.of(61), Answer.fault(3, "u")).unreadableMemory(3));
        assertThat(DeviceStatuses.of(nvml).value())
                .containsExactly(
                        new DeviceStatus(0, null, 87, Memory.ZERO, TOTAL), new DeviceStatus(1, 61, null, null, null));
    }

    @Test
    void thereIsNoneIfItWasNotAskedFor() {
        assertThat(DeviceStatuses.of(NvmlBuilder.listed(device(0, "GPU-0")))).isEqualTo(NONE);
        assertThat(DeviceStatuses.of(new NvmlFacts.Failed(NvmlFacts.Cause.ERROR, 9, "x")))
                .isEqualTo(NONE);
        assertThat(DeviceStatuses.of(new ToolFacts(output(0, ""), output(0, ""))))
                .isEqualTo(NONE);
    }

    /** No part of the snapshot is missing for it. */
    @Test
    void aFailureIsAProblemAndNothingElse() {
        assertThat(DeviceStatuses.of(tool(2, "Field \"x\" is not a valid field to query.\n")))
                .isEqualTo(NONE.with(new Problem(
                        ProblemCode.DEVICE_STATUS_UNKNOWN,
                        "nvidia-smi exited with 2: Field \"x\" is not a valid field to query.")));
        var hung = new ToolFacts(output(0, ""), output(0, "")).withStatus(Reading.failed(Failure.TIMEOUT, "it hangs"));
        assertThat(DeviceStatuses.of(hung))
                .isEqualTo(NONE.with(new Problem(ProblemCode.DEVICE_STATUS_UNKNOWN, "it hangs")));
    }

    private static ToolFacts tool(int exitCode, String status) {
        return new ToolFacts(output(0, ""), output(0, "")).withStatus(output(exitCode, status));
    }

    private static Reading<ToolOutput> output(int exitCode, String text) {
        return Reading.of(new ToolOutput(exitCode, Bytes.of(text.getBytes(UTF_8)), Bytes.EMPTY));
    }
}
