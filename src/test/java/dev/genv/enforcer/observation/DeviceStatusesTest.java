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
import dev.genv.enforcer.observation.GpuListing.DeviceStatuses;
import org.junit.jupiter.api.Test;

class DeviceStatusesTest {
    private static final Memory TOTAL = Memory.ofMebibytes(16384);
    private final Findings findings = new Findings();

    @Test
    void areThoseOfTheAnswer() {
        assertThat(DeviceStatuses.of(tool(0, "0, 0, 16384, 61, 87\n"), findings))
                .containsExactly(new DeviceStatus(0, 61, 87, Memory.ZERO, TOTAL));
        assertThat(findings.problems()).isEmpty();
    }

    @Test
    void thereIsNoneIfItWasNotAskedFor() {
        assertThat(DeviceStatuses.of(new GpuFacts(output(0, ""), output(0, "")), findings))
                .isEmpty();
        assertThat(findings.problems()).isEmpty();
    }

    /** No part of the snapshot is missing for it. */
    @Test
    void aFailureIsAProblemAndNothingElse() {
        assertThat(DeviceStatuses.of(tool(2, "Field \"x\" is not a valid field to query.\n"), findings))
                .isEmpty();
        var hung = new GpuFacts(output(0, ""), output(0, "")).withStatus(Reading.failed(Failure.TIMEOUT, "it hangs"));
        assertThat(DeviceStatuses.of(hung, findings)).isEmpty();
        assertThat(findings.problems())
                .containsExactly(
                        new Problem(
                                ProblemCode.DEVICE_STATUS_UNKNOWN,
                                "nvidia-smi exited with 2: Field \"x\" is not a valid field to query."),
                        new Problem(ProblemCode.DEVICE_STATUS_UNKNOWN, "it hangs"));
        assertThat(findings.missing()).isEmpty();
    }

    private static GpuFacts tool(int exitCode, String status) {
        return new GpuFacts(output(0, ""), output(0, "")).withStatus(output(exitCode, status));
    }

    private static Reading<ToolOutput> output(int exitCode, String text) {
        return Reading.of(new ToolOutput(exitCode, Bytes.of(text.getBytes(UTF_8)), Bytes.EMPTY));
    }
}
