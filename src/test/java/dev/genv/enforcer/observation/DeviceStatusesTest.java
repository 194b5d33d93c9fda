package dev.genv.enforcer.observation;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.GpuListing.DeviceStatuses;
import java.util.List;
import org.junit.jupiter.api.Test;

class DeviceStatusesTest {
    private static final Memory TOTAL = Memory.ofMebibytes(16384);
    private static final Found<List<DeviceStatus>> NONE = Found.of(List.of());

    @Test
    void areThoseOfTheAnswer() {
        assertThat(DeviceStatuses.of(tool(0, "0, 0, 16384, 61, 87\n")))
                .isEqualTo(Found.of(List.of(new DeviceStatus(0, 61, 87, Memory.ZERO, TOTAL))));
    }

    @Test
    void thereIsNoneIfItWasNotAskedFor() {
        assertThat(DeviceStatuses.of(new GpuFacts(output(0, ""), output(0, ""))))
                .isEqualTo(NONE);
    }

    /** No part of the snapshot is missing for it. */
    @Test
    void aFailureIsAProblemAndNothingElse() {
        assertThat(DeviceStatuses.of(tool(2, "Field \"x\" is not a valid field to query.\n")))
                .isEqualTo(NONE.with(new Problem(
                        ProblemCode.DEVICE_STATUS_UNKNOWN,
                        "nvidia-smi exited with 2: Field \"x\" is not a valid field to query.")));
        var hung = new GpuFacts(output(0, ""), output(0, "")).withStatus(Reading.failed(Failure.TIMEOUT, "it hangs"));
        assertThat(DeviceStatuses.of(hung))
                .isEqualTo(NONE.with(new Problem(ProblemCode.DEVICE_STATUS_UNKNOWN, "it hangs")));
    }

    private static GpuFacts tool(int exitCode, String status) {
        return new GpuFacts(output(0, ""), output(0, "")).withStatus(output(exitCode, status));
    }

    private static Reading<ToolOutput> output(int exitCode, String text) {
        return Reading.of(new ToolOutput(exitCode, Bytes.of(text.getBytes(UTF_8)), Bytes.EMPTY));
    }
}
