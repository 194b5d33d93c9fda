package dev.genv.enforcer.observation.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.listed;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.DeviceUsage;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** NVML and nvidia-smi give the same listing of the same machine. */
class SameListingTest {
    private static final String BOTH = "0, GPU-0, 16384\n1, GPU-1, 16384\n";
    private static final ToolFacts TWO_DEVICES = tool("", BOTH);

    /** One machine as both sources describe it. */
    record Capture(String name, ToolFacts tool, NvmlFacts nvml) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Capture> captures() {
        return Stream.of(
                new Capture("no device", noDevices(), listed()),
                new Capture("no process", TWO_DEVICES, listed(device(0, "GPU-0"), device(1, "GPU-1"))),
                new Capture(
                        "a process on each device",
                        tool("GPU-0, 812, 5\nGPU-1, 813, 7\n", BOTH),
                        listed(
                                device(0, "GPU-0").process(812, 5L),
                                device(1, "GPU-1").process(813, 7L))),
                new Capture(
                        "a process on several devices",
                        tool("GPU-0, 812, 5\nGPU-1, 812, 7\n", BOTH),
                        listed(
                                device(0, "GPU-0").process(812, 5L),
                                device(1, "GPU-1").process(812, 7L))),
                new Capture(
                        "unknown memory",
                        tool("GPU-0, 812, [N/A]\n", BOTH),
                        listed(device(0, "GPU-0").process(812, null), device(1, "GPU-1"))),
                new Capture(
                        "a process with compute and graphics contexts",
                        tool("GPU-0, 812, 5\n", BOTH),
                        listed(device(0, "GPU-0").process(812, 5L).graphics(812, 5L), device(1, "GPU-1"))),
                new Capture(
                        "a process with a graphics context only",
                        TWO_DEVICES,
                        listed(device(0, "GPU-0").graphics(99, 5L), device(1, "GPU-1"))),
                new Capture(
                        "MIG",
                        tool("GPU-0, 812, 5\nGPU-0, 812, 7\nGPU-0, 813, 1\n", BOTH),
                        listed(
                                device(0, "GPU-0")
                                        .migProcess(812, 5, 1)
                                        .migProcess(812, 7, 2)
                                        .migProcess(813, 1, 2),
                                device(1, "GPU-1"))),
                new Capture(
                        "a lost GPU with a UUID",
                        tool("GPU-0, 812, 5\n", "0, GPU-0, 16384\n1, GPU-1, [GPU is lost]\n"),
                        listed(
                                device(0, "GPU-0").process(812, 5L),
                                device(1, "GPU-1").unreadableMemory(15))),
                new Capture(
                        "a lost GPU without a UUID",
                        tool("GPU-0, 812, 5\n", "0, GPU-0, 16384\n1, [GPU is lost], [GPU is lost]\n"),
                        listed(
                                device(0, "GPU-0").process(812, 5L),
                                device(1, "").lost(15))),
                new Capture(
                        "no handle of a GPU",
                        tool(
                                "GPU-0, 812, 5\n",
                                "0, GPU-0, 16384\nUnable to determine the device handle for GPU0000:0B:00.0: Unknown Error\n"),
                        listed(
                                device(0, "GPU-0").process(812, 5L),
                                device(1, "").lost(999))),
                new Capture(
                        "processes that an unprivileged container does not see",
                        tool("GPU-0, [Insufficient Permissions], [Insufficient Permissions]\nGPU-1, 812, 5\n", BOTH),
                        listed(device(0, "GPU-0").hidden(4), device(1, "GPU-1").process(812, 5L))),
                new Capture(
                        "two devices with one UUID",
                        tool("GPU-1, 812, 5\n", "0, GPU-0, 1\n1, GPU-1, 1\n2, GPU-1, 1\n"),
                        listed(device(0, "GPU-0"), device(1, "GPU-1").process(812, 5L), device(2, "GPU-1"))),
                new Capture(
                        "no access",
                        new ToolFacts(
                                output(255, "Failed to initialize NVML: Unknown Error\n"),
                                Reading.failed(Reading.Failure.SKIPPED, "")),
                        new NvmlFacts.Failed(Cause.ERROR, 999, "nvmlInit_v2 failed: Unknown Error (999)")),
                new Capture(
                        "a driver of another version",
                        new ToolFacts(
                                output(18, "Failed to initialize NVML: Driver/library version mismatch\n"),
                                Reading.failed(Reading.Failure.SKIPPED, "")),
                        new NvmlFacts.Failed(Cause.ERROR, 18, "nvmlInit_v2 failed: mismatch (18)")),
                new Capture(
                        "a driver that hangs",
                        new ToolFacts(
                                Reading.failed(Reading.Failure.TIMEOUT, "nvidia-smi did not exit within 5000 ms"),
                                Reading.failed(Reading.Failure.SKIPPED, "")),
                        new NvmlFacts.Failed(Cause.TIMEOUT, 0, "NVML does not answer")));
    }

    @ParameterizedTest
    @MethodSource("captures")
    void bothSourcesGiveTheSameListing(Capture capture) {
        var tool = GpuListing.of(capture.tool, new DeviceOrder());
        var nvml = GpuListing.of(capture.nvml, new DeviceOrder());
        assertThat(nvml.value().devices()).isEqualTo(tool.value().devices());
        assertThat(withoutInstances(nvml)).isEqualTo(withoutInstances(tool));
        assertThat(nvml.missing()).isEqualTo(tool.missing());
        assertThat(codes(nvml)).isEqualTo(codes(tool));
    }

    @Test
    void bothSourcesGiveTheSameUsedMemory() {
        var tool = GpuListing.of(tool("", "0, GPU-0, 512\n"), new DeviceOrder());
        var nvml = GpuListing.of(listed(device(0, "GPU-0").used(512, false)), new DeviceOrder());
        assertThat(nvml.value().memory()).isEqualTo(tool.value().memory());
    }

    /** The order is that of the UUIDs, whichever source lists them. */
    @Test
    void movedDevicesAreFoundWhenTheSourceChanges() {
        var order = new DeviceOrder();
        assertThat(GpuListing.of(TWO_DEVICES, order).problems()).isEmpty();
        var found = GpuListing.of(listed(device(0, "GPU-1"), device(1, "GPU-0")), order);
        assertThat(codes(found)).containsExactly(ProblemCode.DEVICES_MOVED);
        assertThat(found.missing()).containsExactly(SnapshotPart.ATTACHMENTS);
        assertThat(codes(GpuListing.of(listed(device(0, "GPU-0")), order))).containsExactly(ProblemCode.GPU_LOST);
    }

    private static ToolFacts tool(String processes, String devices) {
        return new ToolFacts(output(0, processes), output(0, devices));
    }

    private static ToolFacts noDevices() {
        return new ToolFacts(output(6, "No devices were found\n"), output(6, "No devices were found\n"));
    }

    private static Reading<ToolOutput> output(int exitCode, String lines) {
        return Reading.of(new ToolOutput(exitCode, Bytes.of(lines.getBytes(StandardCharsets.UTF_8)), Bytes.EMPTY));
    }

    private static Map<Integer, List<DeviceUsage>> withoutInstances(Found<GpuListing> found) {
        var usage = new TreeMap<Integer, List<DeviceUsage>>();
        found.value()
                .usage()
                .forEach((pid, uses) -> usage.put(
                        pid,
                        uses.stream()
                                .map(use -> new DeviceUsage(use.device(), use.memory()))
                                .toList()));
        return usage;
    }

    private static Set<ProblemCode> codes(Found<GpuListing> found) {
        return found.problems().stream().map(Problem::code).collect(Collectors.toSet());
    }
}
