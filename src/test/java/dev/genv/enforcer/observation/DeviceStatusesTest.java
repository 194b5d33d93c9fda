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
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeviceStatusesTest {
    private static final Memory TOTAL = Memory.ofMebibytes(16384);
    private final Findings findings = new Findings();

    @Test
    void areThoseOfTheAnswer() {
        assertThat(DeviceStatuses.of(tool(0, "0, 0, 16384, 61, 87, 249.51, NVIDIA A100-SXM4-80GB\n"), findings))
                .containsExactly(new DeviceStatus(0, 61, 87, Memory.ZERO, TOTAL, 249, "NVIDIA A100-SXM4-80GB"));
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

    @Test
    void readsEachField() {
        assertThat(DeviceStatuses.parse(List.of("1, 220, 16384, -3, 100, 70, A,B", "0,1,2,61,0,5.5,A")))
                .containsExactly(
                        new DeviceStatus(0, 61, 0, Memory.ofMebibytes(1), Memory.ofMebibytes(2), 5, "A"),
                        new DeviceStatus(1, -3, 100, Memory.ofMebibytes(220), Memory.ofMebibytes(16384), 70, "A,B"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]",
                "0, [Not Supported], [GPU is lost], [Unknown Error], [Insufficient Permissions], [N/A], [Unknown Error]",
                "0, -1, 1.5, 1000, 101, -5.0, ",
                "0, , , , , , ",
                "0, 1234567890123, 99999999999999999999, 61 C, 5 %, 5 W, "
            })
    void anotherTextIsUnknown(String line) {
        assertThat(DeviceStatuses.parse(List.of(line)))
                .containsExactly(new DeviceStatus(0, null, null, null, null, null, null));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "0",
                "0, 1, 2, 3",
                "0, 1, 2, 3, 4, 5",
                "x, 1, 2, 3, 4, 5, A",
                "-1, 1, 2, 3, 4, 5, A",
                "[GPU is lost], 1, 2, 3, 4, 5, A"
            })
    void anotherLineIsLeftOut(String line) {
        assertThat(DeviceStatuses.parse(List.of(line))).isEmpty();
    }

    @Test
    void theFirstLineOfADeviceCounts() {
        assertThat(DeviceStatuses.parse(List.of("0, 1, 2, 3, 4, 5, A", "0, 5, 6, 7, 8, 9, B")))
                .containsExactly(new DeviceStatus(0, 3, 4, Memory.ofMebibytes(1), Memory.ofMebibytes(2), 5, "A"));
    }
}
