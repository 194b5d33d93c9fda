package dev.genv.enforcer.node.gpu;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi.uuid;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.observation.GpuListing;
import dev.genv.enforcer.observation.GpuListing.DeviceOrder;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(600)
class NvidiaSmiTest {
    /** A process that runs: the fake one, like the driver, lists no other. */
    private static final int PID = (int) ProcessHandle.current().pid();

    private final FakeNvidiaSmi fake;
    private final NvidiaSmi smi;
    private final DeviceOrder order = new DeviceOrder();

    NvidiaSmiTest(@TempDir Path folder) throws IOException {
        fake = new FakeNvidiaSmi(folder.resolve("bin"));
        smi = new NvidiaSmi(fake.path().toString(), HANG);
    }

    @Test
    void listsAProcessOnADevice() throws Exception {
        fake.gpus(2).process(1, PID, "1542");
        var listing = list(smi);
        assertThat(listing.devices()).containsExactlyInAnyOrder(0, 1);
        assertThat(listing.usage()).containsOnlyKeys(PID).containsEntry(PID, List.of(uses(1, 1542)));
        assertThat(listing.problems()).isEmpty();
    }

    @Test
    void listsUsageOfAProcessOnTwoDevices() throws Exception {
        fake.gpus(2).process(1, PID, "7").process(0, PID, "5");
        assertThat(list(smi).usage()).containsEntry(PID, List.of(uses(0, 5), uses(1, 7)));
    }

    @Test
    void severalLinesOfAProcessOnADeviceAreAddedUp() throws Exception {
        fake.gpus(1).process(0, PID, "5").process(0, PID, "7").process(0, PID, "1");
        assertThat(list(smi).usage()).containsEntry(PID, List.of(uses(0, 13)));
        fake.process(0, PID, "[N/A]").process(0, PID, "8");
        assertThat(list(smi).usage()).containsEntry(PID, List.of(new DeviceUsage(0, null)));
    }

    @Test
    void listsDevicesWithoutProcesses() throws Exception {
        fake.gpus(3);
        var listing = list(smi);
        assertThat(listing.devices()).containsExactlyInAnyOrder(0, 1, 2);
        assertThat(listing.usage()).isEmpty();
        assertThat(listing.problems()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {6, 0})
    void noDevicesGiveAnEmptyListing(int exitCode) throws Exception {
        fake.fault("echo 'No devices were found'; exit " + exitCode);
        assertThat(list(smi)).satisfies(listing -> {
            assertThat(listing.devices()).isEmpty();
            assertThat(listing.usage()).isEmpty();
            assertThat(listing.problems()).isEmpty();
        });
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"[N/A]", "N/A", "[GPU is lost]", "[Unknown Error]", "[Insufficient Permissions]", "", "1.5", "-1"
            })
    void nonNumericMemoryIsUnknown(String memory) throws Exception {
        fake.gpuLines("0, %s, [N/A]\n".formatted(uuid(0))).process(0, PID, memory);
        var listing = list(smi);
        assertThat(listing.devices()).containsExactly(0);
        assertThat(listing.usage()).containsEntry(PID, List.of(new DeviceUsage(0, null)));
        assertThat(listing.problems()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"[Insufficient Permissions]", "[N/A]", "0", "-1", "", "99999999999"})
    void unreadablePidAffectsOnlyItsLine(String pid) throws Exception {
        fake.gpus(1).fault("case $1 in *apps*) echo '%s, %s, [N/A]';; esac".formatted(uuid(0), pid));
        fake.process(0, PID, "5");
        var listing = list(smi);
        assertThat(listing.usage()).containsOnlyKeys(PID);
        assertThat(listing.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.code())
                    .isEqualTo(pid.startsWith("[I") ? ProblemCode.GPU_PROCESS_HIDDEN : ProblemCode.GPU_LINE_UNREADABLE);
            assertThat(problem.detail()).startsWith("nvidia-smi printed: %s, %s, [N/A]".formatted(uuid(0), pid));
        });
    }

    @Test
    void unknownUuidAffectsOnlyItsLine() throws Exception {
        fake.gpus(1).process("MIG-1", Integer.toString(PID), "9").process(0, PID, "5");
        var listing = list(smi);
        assertThat(listing.usage()).containsOnlyKeys(PID).containsEntry(PID, List.of(uses(0, 5)));
        assertThat(listing.problems())
                .singleElement()
                .satisfies(problem -> assertThat(problem.code()).isEqualTo(ProblemCode.DEVICE_UNKNOWN))
                .satisfies(problem -> assertThat(problem.detail()).contains("MIG-1", Integer.toString(PID)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "[GPU is lost], [GPU is lost], [GPU is lost]",
                "1, [GPU is lost], [GPU is lost]",
                "Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error",
            })
    void lostDeviceDoesNotAffectOthers(String line) throws Exception {
        fake.gpuLines("0, %s, 16384\n%s\n".formatted(uuid(0), line)).process(0, PID, "5");
        var listing = list(smi);
        assertThat(listing.devices()).containsExactly(0);
        assertThat(listing.usage()).containsOnlyKeys(PID);
        assertThat(listing.problems()).singleElement().satisfies(problem -> {
            assertThat(problem.code()).isEqualTo(ProblemCode.GPU_LOST);
            assertThat(problem.detail())
                    .startsWith("nvidia-smi printed: " + line)
                    .contains("reset it or reboot");
        });
    }

    /** Two lost ones look the same: a process on one must not be taken for one on the other, and ended for it. */
    @ParameterizedTest
    @ValueSource(strings = {"[GPU is lost]", "[N/A]", "GPU-1"})
    void processIsNotAssignedToDevicesWithTheSameUuid(String uuid) throws Exception {
        fake.gpuLines("0, %1$s, 1\n1, %1$s, 1\n".formatted(uuid)).process(uuid, Integer.toString(PID), "5");
        var listing = list(smi);
        assertThat(listing.devices()).isEmpty();
        assertThat(listing.usage()).isEmpty();
        assertThat(listing.problems())
                .extracting(Problem::code)
                .contains(
                        uuid.contains("lost") ? ProblemCode.GPU_LOST : ProblemCode.GPU_LINE_UNREADABLE,
                        ProblemCode.DEVICE_UNKNOWN);
    }

    @ParameterizedTest
    @CsvSource({
        "9, NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "18, Failed to initialize NVML: Driver/library version mismatch",
        "255, Failed to initialize NVML: Unknown Error",
        "15, Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error",
        "7, No devices were found",
    })
    void failureReportsOnlyTheExitCodeAndMessage(int exitCode, String words) throws Exception {
        var faults = new String[] {
            "echo \"%s\"; echo; echo more; exit %d".formatted(words, exitCode),
            "echo \"%s\" >&2; exit %d".formatted(words, exitCode),
            "case $1 in *gpu=*) echo \"%s\"; exit %d;; esac".formatted(words, exitCode)
        };
        fake.gpus(1).process(0, PID, "5");
        for (var fault : faults) {
            fake.fault(fault);
            assertThatThrownBy(() -> list(smi))
                    .isInstanceOf(ToolException.class)
                    .hasMessageStartingWith("nvidia-smi exited with %d: %s".formatted(exitCode, words));
        }
        fake.noFault();
        assertThat(list(smi).usage()).containsOnlyKeys(PID);
    }

    @ParameterizedTest
    @CsvSource({
        "255, Failed to initialize NVML: Unknown Error, GPU_NEEDS_NEW_CONTAINER",
        "15, Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error, GPU_LOST",
        "18, Failed to initialize NVML: Driver/library version mismatch, GPU_TOOL_FAILED",
        "9, NVIDIA-SMI has failed, GPU_TOOL_FAILED",
        "137, , GPU_TOOL_FAILED",
    })
    void failureCodeDependsOnExitCodeAndMessage(int exitCode, String words, ProblemCode code) throws IOException {
        fake.fault("echo '%s'; exit %d".formatted(words, exitCode));
        assertThatThrownBy(() -> list(smi))
                .isInstanceOfSatisfying(
                        ToolException.class, e -> assertThat(e.code()).isEqualTo(code));
    }

    @Test
    void unknownNvmlErrorAdvisesToRecreateTheContainer() throws IOException {
        fake.fault("echo 'Failed to initialize NVML: Unknown Error'; exit 255");
        assertThatThrownBy(() -> list(smi)).hasMessageContainingAll("must be recreated", "on a plain host");
    }

    /** Which one is lost is known; what runs there is not. */
    @Test
    void lostDeviceWithUuidIsStillListed() throws Exception {
        fake.gpuLines("0, %s, [GPU is lost]\n".formatted(uuid(0))).process(0, PID, "5");
        var listing = list(smi);
        assertThat(listing.devices()).containsExactly(0);
        assertThat(listing.usage()).containsOnlyKeys(PID);
        assertThat(listing.problems()).extracting(Problem::code).containsExactly(ProblemCode.GPU_LOST);
    }

    @Test
    void garbageOutputGivesABoundedNumberOfProblems() throws Exception {
        fake.gpus(1)
                .fault(
                        "case $1 in *apps*) head -c 3000000 /dev/zero | tr '\\0' x; echo; yes garbage | head -n 100000;; esac");
        fake.process(0, PID, "5");
        var listing = list(smi);
        assertThat(listing.usage()).containsOnlyKeys(PID);
        assertThat(listing.problems())
                .hasSizeBetween(100, 102)
                .allSatisfy(problem -> assertThat(problem.detail()).hasSizeLessThan(300));
    }

    @Test
    void reportsFailureWithoutOutput() throws IOException {
        fake.fault("exit 3");
        assertThatThrownBy(() -> list(smi))
                .isInstanceOf(ToolException.class)
                .hasMessageContaining("3: it printed nothing");
    }

    private GpuListing list(NvidiaSmi tool) throws ToolException, InterruptedException {
        var found = GpuListing.of(tool.read(), order);
        if (found.missing().contains(SnapshotPart.PROCESSES)) {
            var problem = found.problems().getFirst();
            throw new ToolException(problem.code(), problem.detail(), null);
        }
        return found;
    }

    private static DeviceUsage uses(int device, long mebibytes) {
        return new DeviceUsage(device, Memory.ofMebibytes(mebibytes));
    }
}
