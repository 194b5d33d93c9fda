package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.node.gpu.nvml.library.LibraryFile;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** NVML is initialized once, and again when this can cure an error. */
class NvmlInitializationTest {
    private static final String INIT = "nvmlInit_v2";
    private static final String SHUTDOWN = "nvmlShutdown";

    @TempDir
    private Path folder;

    private FakeNvml nvml;

    @BeforeEach
    void oneGpu() throws IOException {
        nvml = new FakeNvml(folder).gpus(1).recordCalls();
    }

    @Test
    void staysInitializedUntilItIsReleased() throws Exception {
        try (var source = Sources.of(nvml)) {
            source.read();
            source.read();
            assertThat(nvml.recordedCalls()).containsOnlyOnce(INIT).doesNotContain(SHUTDOWN);
            source.release();
            assertThat(nvml.recordedCalls()).endsWith(SHUTDOWN);
            assertThat(Sources.devices(source.read())).hasSize(1);
        }
        assertThat(timesOf(INIT)).isEqualTo(2);
        assertThat(timesOf(SHUTDOWN)).isEqualTo(2);
    }

    @Test
    void isNotInitializedBeforeTheFirstReading() throws Exception {
        try (var source = Sources.of(nvml)) {
            source.release();
        }
        assertThat(nvml.recordedCalls()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "nvmlDeviceGetCount_v2, 1",
        "nvmlDeviceGetCount_v2, 9",
        "nvmlDeviceGetUUID, 18",
        "nvmlDeviceGetCount_v2, 999"
    })
    void initializesAgainAfterAnErrorThatConcernsAllGpus(String function, int code) throws Exception {
        try (var source = Sources.of(nvml)) {
            nvml.fail(function, code);
            Sources.failure(source.read());
            nvml.retain(line -> !line.startsWith("fail"));
            assertThat(Sources.devices(source.read())).hasSize(1);
            assertThat(timesOf(INIT)).isEqualTo(2);
            assertThat(timesOf(SHUTDOWN)).isEqualTo(1);
        }
    }

    @Test
    void triesARefusedInitializationAgain() throws Exception {
        try (var source = Sources.of(nvml)) {
            nvml.fail(INIT, 9);
            Sources.failure(source.read());
            nvml.retain(line -> !line.startsWith("fail"));
            assertThat(Sources.devices(source.read())).hasSize(1);
            assertThat(timesOf(SHUTDOWN)).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({"15, 0s, 2", "28, 0s, 2", "15, 1h, 1", "28, 1h, 1", "16, 0s, 1", "3, 0s, 1"})
    void initializesAgainSomeTimeAfterAGpuWasLost(int code, String pause, int times) throws Exception {
        var library = LibraryFile.of(nvml.path().toString(), "");
        try (var source = new NvmlSource(library, Duration.ofMinutes(2), Duration.parse("PT" + pause))) {
            nvml.fail("nvmlDeviceGetUUID", code, 0);
            source.read();
            assertThat(Sources.devices(source.read()).getFirst().uuid()).isInstanceOf(NvmlFacts.Fault.class);
            assertThat(timesOf(INIT)).isEqualTo(times);
        }
    }

    /** A new driver replaces the file, and the loaded library never matches the driver again. */
    @Test
    void loadsTheFileAgainAfterTheDriverWasReplaced() throws Exception {
        try (var source = Sources.of(nvml)) {
            nvml.fail("nvmlDeviceGetCount_v2", 18);
            Sources.failure(source.read());
            new FakeNvml(folder, "UTILIZATION").gpus(1);
            assertThat(Sources.devices(source.read()).getFirst().utilization())
                    .isEqualTo(Answer.fault(13, "nvmlDeviceGetProcessUtilization"));
        }
    }

    private long timesOf(String function) throws IOException {
        return nvml.recordedCalls().stream().filter(function::equals).count();
    }
}
