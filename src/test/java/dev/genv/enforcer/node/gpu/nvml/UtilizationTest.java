package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Utilization;
import dev.genv.enforcer.facts.NvmlFacts.Value;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The utilization of a GPU by its processes. */
class UtilizationTest {
    private static final String FUNCTION = "nvmlDeviceGetProcessUtilization";

    @TempDir
    private Path folder;

    private FakeNvml nvml;

    @BeforeEach
    void oneGpu() throws IOException {
        nvml = new FakeNvml(folder).gpus(1).line("sample 0 11 5000 70").line("sample 0 12 6000 30");
    }

    @Test
    void readsEachSampleOnce() throws Exception {
        try (var source = Sources.of(nvml)) {
            assertThat(utilization(source))
                    .isEqualTo(Answer.of(List.of(new Utilization(11, 5000, 70), new Utilization(12, 6000, 30))));
            assertThat(utilization(source)).isEqualTo(Answer.of(List.of()));
            nvml.line("sample 0 11 7000 0");
            assertThat(utilization(source)).isEqualTo(Answer.of(List.of(new Utilization(11, 7000, 0))));
        }
    }

    @Test
    void readsEachSampleOnceAlsoAfterARelease() throws Exception {
        try (var source = Sources.of(nvml)) {
            utilization(source);
            source.release();
            assertThat(utilization(source)).isEqualTo(Answer.of(List.of()));
        }
    }

    @Test
    void forgetsGpusThatAreGone() throws Exception {
        try (var source = Sources.of(nvml)) {
            var first = utilization(source);
            nvml.gpus(0);
            assertThat(Sources.devices(source.read())).isEmpty();
            nvml.gpus(1);
            assertThat(utilization(source)).isEqualTo(first);
        }
    }

    @Test
    void readsAnyNumberOfSamples() throws Exception {
        var lines = IntStream.rangeClosed(1, 1000).mapToObj("sample 0 %d 7000 50\n"::formatted);
        nvml.line(String.join("", lines.toList()));
        try (var source = Sources.of(nvml)) {
            assertThat(utilization(source))
                    .isInstanceOfSatisfying(
                            Value.class,
                            value -> assertThat((List<?>) value.value()).hasSize(1002));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sample 0 0 7000 50", "sample 0 13 7000 101", "sample 0 13 7000 4294967295"})
    void leavesOutWhatIsNoSample(String line) throws Exception {
        assertSamplesAreTheFirstTwo(line);
    }

    /** Drivers count entries that they did not fill, and a count can be larger than the buffer. */
    @ParameterizedTest
    @ValueSource(strings = {"3", "64", "65", "4294967295"})
    void leavesOutEntriesThatWereNotWritten(String count) throws Exception {
        assertSamplesAreTheFirstTwo("claim %s %s".formatted(FUNCTION, count));
    }

    private void assertSamplesAreTheFirstTwo(String line) throws Exception {
        try (var source = Sources.of(nvml.line(line))) {
            assertThat(utilization(source))
                    .isEqualTo(Answer.of(List.of(new Utilization(11, 5000, 70), new Utilization(12, 6000, 30))));
        }
    }

    @Test
    void isUnknownIfTheGpuDoesNotSupportIt() throws Exception {
        try (var source = Sources.of(nvml.fail(FUNCTION, 3))) {
            assertThat(utilization(source)).isEqualTo(Answer.fault(3, FUNCTION));
        }
    }

    @Test
    void isUnknownIfTheLibraryIsTooOld() throws Exception {
        var old = new FakeNvml(folder.resolve("old"), "UTILIZATION").gpus(1);
        try (var source = Sources.of(old)) {
            assertThat(utilization(source)).isEqualTo(Answer.fault(13, FUNCTION));
        }
    }

    private static Answer<List<Utilization>> utilization(NvmlSource source) throws InterruptedException {
        return Sources.devices(source.read()).getFirst().utilization();
    }
}
