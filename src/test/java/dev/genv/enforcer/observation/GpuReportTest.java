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
import dev.genv.enforcer.observation.GpuReport.GpuHistory;
import java.util.List;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GpuReportTest {
    private final GpuHistory gpus = new GpuHistory();
    private final Findings findings = new Findings();

    /** The lines of the processes and of the devices, each with an exit code if that is not 0. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        GPU-0, 812, 5      | {BOTH} | 812 0=5 |
        ^^                 | {BOTH} | ^^ |
        GPU-0, 812, 5;GPU-1, 812, 7     | {BOTH} | 812 0=5 1=7 |
        GPU-0, 812, [N/A]  | {BOTH} | 812 0=? |
        GPU-0, 812, -1     | {BOTH} | 812 0=? |
        # with MIG
        GPU-0, 812, 5;GPU-0, 812, 8     | {BOTH} | 812 0=13 |
        GPU-0, 812, 5;GPU-0, 812, [N/A] | {BOTH} | 812 0=? |
        GPU-0, [Insufficient Permissions], [Insufficient Permissions] | {BOTH} | ^^ | EVERY_PROCESS GPU_PROCESS_HIDDEN: nvidia-smi printed: GPU-0, [Insufficient Permissions], [Insufficient Permissions]: a process on a MIG device is hidden from an unprivileged container
        MIG-1, 812, 9      | {BOTH} | ^^ | EVERY_PROCESS DEVICE_UNKNOWN: nvidia-smi lists process 812 on MIG-1, which is none of its devices
        garbage;GPU-0, 812, 5 | {BOTH} | 812 0=5 | EVERY_PROCESS GPU_LINE_UNREADABLE: nvidia-smi printed: garbage
        GPU-0, 0812, 5     | {BOTH} | ^^ | EVERY_PROCESS GPU_LINE_UNREADABLE: nvidia-smi printed: GPU-0, 0812, 5
        GPU-0, 4294968108, 5 | {BOTH} | ^^ | EVERY_PROCESS GPU_LINE_UNREADABLE: nvidia-smi printed: GPU-0, 4294968108, 5
        GPU-0, 812, 5;GPU-1, 900, 7 | 0, GPU-0, 1;1, GPU-1, 1;2, GPU-1, 1 | 812 0=5 | EVERY_PROCESS GPU_LINE_UNREADABLE: nvidia-smi names a device twice: 2, GPU-1, 1
        GPU-0, 812, 5      | 0, GPU-0, 1;1, [GPU is lost], [GPU is lost] | 812 0=5 | EVERY_PROCESS GPU_LOST: nvidia-smi printed: 1, [GPU is lost], [GPU is lost]: the processes on that GPU are unknown; reset it or reboot
        [GPU is lost], 812, 5 | 0, [GPU is lost], 1;1, [GPU is lost], 1 | ^^ | EVERY_PROCESS GPU_LOST: nvidia-smi printed: 0, [GPU is lost], 1: the processes on that GPU are unknown; reset it or reboot
        Unable to determine the device handle for GPU0: Unknown Error@15 | {BOTH} | ^^ | PROCESSES GPU_LOST: nvidia-smi exited with 15: Unable to determine the device handle for GPU0: Unknown Error: the processes on that GPU are unknown; reset it or reboot
        GPU-0, 812, 5;Unable to determine the device handle for GPU1: Unknown Error@255 | {BOTH} | ^^ | PROCESSES GPU_LOST: nvidia-smi exited with 255: Unable to determine the device handle for GPU1: Unknown Error: the processes on that GPU are unknown; reset it or reboot
        GPU-0, 812, 5      | 0, GPU-0, 1;Failed to initialize NVML: Unknown Error@255 | ^^ | PROCESSES GPU_NEEDS_NEW_CONTAINER: nvidia-smi exited with 255: Failed to initialize NVML: Unknown Error: this container has lost its access to the GPUs, as systemctl daemon-reload takes it away, and must be recreated; on a plain host, load the driver again or reboot
        some note;GPU-0, 812, 5;Unable to determine the device handle for GPU1@255 | {BOTH} | ^^ | PROCESSES GPU_LOST: nvidia-smi exited with 255: Unable to determine the device handle for GPU1: the processes on that GPU are unknown; reset it or reboot
        GPU-0, 812, 5@255  | {BOTH} | ^^ | PROCESSES GPU_TOOL_FAILED: nvidia-smi exited with 255: it printed no reason
        Unable to determine the device handle for GPU0;No devices were found@6 | {BOTH} | ^^ | PROCESSES GPU_LOST: nvidia-smi exited with 6: Unable to determine the device handle for GPU0: the processes on that GPU are unknown; reset it or reboot
        # a warning
        garbage 812;GPU-0, 812, 5;garbage, x, 5@14 | {BOTH} | 812 0=5 | EVERY_PROCESS GPU_LINE_UNREADABLE: nvidia-smi printed: garbage, x, 5
        GPU-0, 812, 5;Unable to determine the device handle for GPU1@14 | {BOTH} | 812 0=5 | EVERY_PROCESS GPU_LOST: nvidia-smi printed: Unable to determine the device handle for GPU1: the processes on that GPU are unknown; reset it or reboot
        WARNING: infoROM is corrupted at gpu 0000:02:00.0@14 | WARNING: infoROM is corrupted at gpu 0000:02:00.0@14 | ^^ | PROCESSES GPU_TOOL_FAILED: nvidia-smi exited with 14: WARNING: infoROM is corrupted at gpu 0000:02:00.0
        NVIDIA-SMI has failed@9  | {BOTH} | ^^ | PROCESSES GPU_TOOL_FAILED: nvidia-smi exited with 9: NVIDIA-SMI has failed
        No devices were found@6  | {BOTH} | ^^ | PROCESSES GPU_TOOL_FAILED: nvidia-smi found no devices at first, and then 2
        No devices were found@6  | No devices were found@6 | ^^ |
        No devices were found    | No devices were found | ^^ |
        """)
    void listsProcessesOrSaysWhatIsMissing(String processes, String devices, String usage, @Nullable String missing) {
        var both = "0, GPU-0, 16384;1, GPU-1, 16384";
        var report = gpus.interpret(new GpuFacts(answer(processes), answer(devices.replace("{BOTH}", both))));
        var used = new StringJoiner(" ");
        report.usage().forEach((pid, uses) -> {
            used.add(pid.toString());
            uses.forEach(use -> used.add("%d=%s"
                    .formatted(
                            use.device(),
                            use.memory() == null ? "?" : use.memory().mebibytes())));
        });
        assertThat(used).hasToString(usage);
        var problem = report.problems().stream().findFirst();
        assertThat(problem.map(first -> "%s %s: %s"
                                .formatted(report.missing().iterator().next(), first.code(), first.detail()))
                        .orElse(null))
                .isEqualTo(missing);
        assertThat(report.missing()).hasSize(missing == null ? 0 : 1);
    }

    /** A warning costs no row, and is reported. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '^', textBlock = """
        GPU-0, 812, 5;{WARNING}@14 | 0, GPU-0, 1;1, GPU-1, 1;{WARNING}@14
        {WARNING};GPU-0, 812, 5@14 | {WARNING};0, GPU-0, 1;1, GPU-1, 1@14
        GPU-0, 812, 5;{WARNING}@14 | 0, GPU-0, 1;1, GPU-1, 1
        GPU-0, 812, 5              | 0, GPU-0, 1;{WARNING};1, GPU-1, 1@14
        """)
    void rowsBesideAWarningCount(String processes, String devices) {
        var warning = "WARNING: infoROM is corrupted at gpu 0000:02:00.0";
        var report = gpus.interpret(new GpuFacts(
                answer(processes.replace("{WARNING}", warning)), answer(devices.replace("{WARNING}", warning))));
        assertThat(report.usage()).containsOnlyKeys(812);
        assertThat(report.devices()).containsExactlyInAnyOrder(0, 1);
        assertThat(report.missing()).isEmpty();
        assertThat(report.problems())
                .containsExactly(new Problem(ProblemCode.GPU_TOOL_WARNING, "nvidia-smi exited with 14: " + warning));
    }

    @Test
    void warningMayStandOnStandardError() {
        var rows = new ToolOutput(
                14, Bytes.of("GPU-0, 812, 5\n".getBytes(UTF_8)), Bytes.of("WARNING: x\n".getBytes(UTF_8)));
        var report = gpus.interpret(new GpuFacts(Reading.of(rows), output(0, "0, GPU-0, 1\n")));
        assertThat(report.problems())
                .containsExactly(new Problem(ProblemCode.GPU_TOOL_WARNING, "nvidia-smi exited with 14: WARNING: x"));
        assertThat(statuses(output(14, "0, 1, 2, 3, 4, 5, A\nWARNING: x\n"))).hasSize(1);
    }

    private static Reading<ToolOutput> answer(String text) {
        var parts = text.split("@", -1);
        var lines = parts[0].isEmpty() ? "" : parts[0].replace(";", "\n") + "\n";
        return output(parts.length == 1 ? 0 : Integer.parseInt(parts[1]), lines);
    }

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

    @Test
    void problemsOfInvalidOutputAreBounded() {
        var output = "x".repeat(3_000_000) + "\n" + "garbage\n".repeat(1000) + "GPU-0, 812, 5\n";
        var report = gpus.interpret(new GpuFacts(output(0, output), output(0, "0, GPU-0, 1\n")));
        assertThat(report.usage()).containsOnlyKeys(812);
        assertThat(report.problems())
                .hasSizeBetween(100, 102)
                .allSatisfy(problem -> assertThat(problem.detail()).hasSizeLessThan(300));
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
