package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.DeviceProcess;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A list of processes is used only if it is laid out as expected, because processes are terminated by what it says. */
class ProcessLayoutTest {
    private static final String NO_V3 = "V3";
    private static final String V3_OF_NEW_DRIVER = "";
    private static final String V3_OF_OLD_DRIVER = "DETAILS CONFIDENTIAL";
    private static final String V3_OF_535 = "DETAILS";

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({"V3, 24", "'', 24", "DETAILS CONFIDENTIAL, 24", "DETAILS, 32", "CONFIDENTIAL, 24"})
    void readsTheLayoutThatTheFunctionsOfTheLibraryShow(String without, int size) throws Exception {
        try (var source = Sources.of(library(without).line("stride " + size))) {
            var device = Sources.devices(source.read()).getFirst();
            assertThat(device.compute())
                    .isEqualTo(Answer.of(List.of(
                            new DeviceProcess(11, 300L, null, null),
                            new DeviceProcess(12, null, null, null),
                            new DeviceProcess(13, 0L, null, null))));
            assertThat(device.graphics()).isEqualTo(Answer.of(List.of(new DeviceProcess(14, 5L, null, null))));
        }
    }

    @ParameterizedTest
    @CsvSource({
        NO_V3 + ", 16",
        NO_V3 + ", 32",
        "'" + V3_OF_NEW_DRIVER + "', 16",
        "'" + V3_OF_NEW_DRIVER + "', 32",
        "'" + V3_OF_NEW_DRIVER + "', 40",
        V3_OF_OLD_DRIVER + ", 16",
        V3_OF_OLD_DRIVER + ", 32",
        V3_OF_535 + ", 16",
        V3_OF_535 + ", 24",
        V3_OF_535 + ", 40",
    })
    void refusesAnyOtherLayout(String without, int size) throws Exception {
        try (var source = Sources.of(library(without).line("stride " + size))) {
            assertLayoutIsRefused(source);
        }
    }

    @ParameterizedTest
    @CsvSource({"V3, 16", "V3, 32", "'', 16", "'', 32", "DETAILS, 24", "DETAILS, 16"})
    void refusesAnyOtherLayoutOfASingleEntry(String without, int size) throws Exception {
        var nvml = new FakeNvml(folder, without).gpus(1).process(0, 11, 300).line("stride " + size);
        try (var source = Sources.of(nvml)) {
            assertLayoutIsRefused(source);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 24, 32})
    void anyLayoutOfNoEntryIsFine(int size) throws Exception {
        try (var source = Sources.of(new FakeNvml(folder).gpus(1).line("stride " + size))) {
            assertThat(Sources.devices(source.read()).getFirst().compute()).isEqualTo(Answer.of(List.of()));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"extra 1", "extra 8", "claim nvmlDeviceGetComputeRunningProcesses_v3 0"})
    void refusesAListThatIsLongerThanItsCount(String line) throws Exception {
        try (var source = Sources.of(library("").line(line))) {
            assertLayoutIsRefused(source);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"4", "64", "65", "4294967295"})
    void refusesAListThatIsShorterThanItsCount(String count) throws Exception {
        var claim = "claim nvmlDeviceGetComputeRunningProcesses_v3 " + count;
        try (var source = Sources.of(library("").line(claim))) {
            assertLayoutIsRefused(source);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 4194305, 4294967295L})
    void refusesANumberThatIsNoPid(long pid) throws Exception {
        try (var source = Sources.of(library("").process(0, pid, 300))) {
            assertLayoutIsRefused(source);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"-2", "-9223372036854775808"})
    void refusesAnImpossibleAmountOfMemory(String memory) throws Exception {
        try (var source = Sources.of(library("").line("process 0 c 15 " + memory))) {
            assertLayoutIsRefused(source);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {63, 64, 65, 1000, 8000})
    void readsListsOfAnyLength(int length) throws Exception {
        var nvml = new FakeNvml(folder).gpus(1);
        var lines = new StringBuilder();
        for (var pid = 1; pid <= length; pid++) {
            lines.append("process 0 c %d 7\n".formatted(pid));
        }
        try (var source = Sources.of(nvml.line(lines.toString()))) {
            var expected = LongStream.rangeClosed(1, length)
                    .mapToObj(pid -> new DeviceProcess(pid, 7L, null, null))
                    .toList();
            assertThat(Sources.devices(source.read()).getFirst().compute()).isEqualTo(Answer.of(expected));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {65537, 4294967295L})
    void aListThatIsNeverLongEnoughLeavesTheProcessesUnknown(long capacity) throws Exception {
        try (var source = Sources.of(library("").line("capacity " + capacity))) {
            assertThat(Sources.devices(source.read()).getFirst().compute())
                    .isEqualTo(Answer.fault(7, "nvmlDeviceGetComputeRunningProcesses_v3"));
        }
    }

    private FakeNvml library(String without) throws IOException {
        return new FakeNvml(folder, without.isEmpty() ? new String[0] : without.split(" ", -1))
                .gpus(1)
                .process(0, 11, 300)
                .process(0, 12, -1)
                .process(0, 13, 0)
                .line("process 0 g 14 5");
    }

    private static void assertLayoutIsRefused(NvmlSource source) throws InterruptedException {
        var failure = Sources.failure(source.read());
        assertThat(failure.cause()).isEqualTo(Cause.LAYOUT);
        assertThat(failure.reason()).startsWith("NVML is not used: nvmlDeviceGetComputeRunningProcesses_v");
    }
}
