package dev.genv.enforcer.observation.gpu;

import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.device;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.inBytes;
import static dev.genv.enforcer.testsupport.builder.NvmlBuilder.listed;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.model.device.DeviceUsage;
import dev.genv.enforcer.model.device.DeviceUsage.MigInstance;
import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What NVML alone answers. */
class NvmlListingTest {
    @Test
    void graphicsProcessIsNotListed() {
        var found = GpuListing.of(listed(device(0, "GPU-0").graphics(99, 5L)), new DeviceOrder());
        assertThat(found.value().usage()).isEmpty();
    }

    @Test
    void usedMemoryWithTheReserveOfTheDriverIsUnknown() {
        var found = GpuListing.of(listed(device(0, "GPU-0").used(512, true)), new DeviceOrder());
        assertThat(found.value().memory()).containsExactly(new GpuListing.DeviceMemory("GPU-0", 0, null));
    }

    @Test
    void graphicsProcessExplainsItsMemory() {
        var found = GpuListing.of(
                listed(device(0, "GPU-0")
                        .used(1000, false)
                        .process(7, 100L)
                        .graphics(7, 100L)
                        .graphics(99, 300L)),
                new DeviceOrder());
        assertThat(found.value().memory())
                .containsExactly(new GpuListing.DeviceMemory("GPU-0", 0, Memory.ofMebibytes(700)));
        assertThat(found.value().graphics()).isEqualTo(Map.of(99, Set.of(0)));
    }

    @Test
    void graphicsProcessWithUnknownMemoryMayUseAll() {
        var found = GpuListing.of(listed(device(0, "GPU-0").used(1000, false).graphics(99, null)), new DeviceOrder());
        assertThat(found.value().memory()).containsExactly(new GpuListing.DeviceMemory("GPU-0", 0, null));
    }

    @Test
    void memoryIsRoundedUpToMebibytesAsNvidiaSmiDoes() {
        var process = new NvmlFacts.DeviceProcess(812, (5L << 20) + 1, null, null);
        var facts = listed(device(0, "GPU-0").migDevice(0, Answer.of(List.of(process))));
        assertThat(GpuListing.of(facts, new DeviceOrder()).value().usage())
                .containsEntry(812, List.of(new DeviceUsage(0, Memory.ofMebibytes(6))));
    }

    @Test
    void migDevicesAreNamedAndTheirMemoryIsAddedUp() {
        var facts = listed(device(0, "GPU-0").migProcess(812, 5, 2).migProcess(812, 7, 1));
        assertThat(GpuListing.of(facts, new DeviceOrder()).value().usage())
                .containsEntry(
                        812,
                        List.of(new DeviceUsage(
                                0, Memory.ofMebibytes(12), List.of(new MigInstance(1, 0), new MigInstance(2, 0)))));
    }

    /** The list of the whole GPU names the processes of its MIG devices too, if it is permitted. */
    @Test
    void processInTheListsOfGpuAndMigDeviceCountsOnce() {
        var facts = listed(device(0, "GPU-0").migProcess(812, 5, 1).migDevice(0, list(inBytes(812, 5L, 1))));
        assertThat(GpuListing.of(facts, new DeviceOrder()).value().usage())
                .containsEntry(812, List.of(new DeviceUsage(0, Memory.ofMebibytes(5), List.of(new MigInstance(1, 0)))));
    }

    @Test
    void processWhoseMemoryChangesBetweenTheListsCountsOnce() {
        var facts = listed(device(0, "GPU-0").migProcess(812, 7, 1).migDevice(0, list(inBytes(812, 5L, 1))));
        assertThat(GpuListing.of(facts, new DeviceOrder()).value().usage())
                .containsEntry(812, List.of(new DeviceUsage(0, Memory.ofMebibytes(5), List.of(new MigInstance(1, 0)))));
    }

    @Test
    void listsOfAllMigDevicesReplaceTheHiddenOneOfTheGpu() {
        var facts = listed(device(0, "GPU-0")
                .hidden(4)
                .migDevice(0, list(inBytes(812, 5L, 1)))
                .migDevice(1, list()));
        var found = GpuListing.of(facts, new DeviceOrder());
        assertThat(found.problems()).isEmpty();
        assertThat(found.value().usage()).containsOnlyKeys(812);
    }

    @Test
    void hiddenMigDeviceMakesProcessesMissing() {
        var facts = listed(device(0, "GPU-0")
                .hidden(4)
                .migDevice(0, list(inBytes(812, 5L, 1)))
                .migDevice(1, Answer.fault(4, "nvmlDeviceGetComputeRunningProcesses_v3")));
        var found = GpuListing.of(facts, new DeviceOrder());
        assertThat(codes(found)).containsOnly(ProblemCode.GPU_PROCESS_HIDDEN);
        assertThat(found.missing()).containsExactly(SnapshotPart.EVERY_PROCESS);
        assertThat(found.value().usage()).containsOnlyKeys(812);
    }

    @ParameterizedTest
    @CsvSource({"0", "-1", "4194305", "4294967295", "2779096485"})
    void impossiblePidIsNotListed(long pid) {
        var found = GpuListing.of(listed(device(0, "GPU-0").process(pid, 1L).process(812, 1L)), new DeviceOrder());
        assertThat(found.value().usage()).containsOnlyKeys(812);
        assertThat(codes(found)).containsExactly(ProblemCode.GPU_LINE_UNREADABLE);
        assertThat(found.missing()).containsExactly(SnapshotPart.EVERY_PROCESS);
    }

    @ParameterizedTest
    @CsvSource({
        "4, GPU_ACCESS_DENIED",
        "15, GPU_LOST",
        "16, GPU_LOST",
        "28, GPU_LOST",
        "999, GPU_LOST",
        "1234, GPU_LOST"
    })
    void gpuWithoutHandleCostsThatGpuOnly(int code, ProblemCode expected) {
        var found = GpuListing.of(
                listed(device(0, "GPU-0").process(812, 1L), device(1, "").lost(code)), new DeviceOrder());
        assertThat(found.value().devices()).containsExactly(0);
        assertThat(found.value().usage()).containsOnlyKeys(812);
        assertThat(codes(found)).containsExactly(expected);
        assertThat(found.missing()).containsExactly(SnapshotPart.EVERY_PROCESS);
        assertThat(found.problems().getFirst().detail()).contains("returned " + code, "device 1");
    }

    private static Answer<List<NvmlFacts.DeviceProcess>> list(NvmlFacts.DeviceProcess... processes) {
        return Answer.of(List.of(processes));
    }

    private static Set<ProblemCode> codes(Found<GpuListing> found) {
        return found.problems().stream().map(Problem::code).collect(Collectors.toSet());
    }
}
