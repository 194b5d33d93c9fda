package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Cause;
import dev.genv.enforcer.facts.NvmlFacts.Listed;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A call into the driver that does not return costs readings, and not the service. */
@Timeout(600)
class NvmlHangTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @TempDir
    private Path folder;

    private Path end;
    private FakeNvml nvml;

    @BeforeEach
    void oneGpu() throws IOException {
        end = folder.resolve("end");
        nvml = new FakeNvml(folder.resolve("lib")).gpus(1).recordCalls();
    }

    @AfterEach
    void endAllCalls() throws IOException {
        if (!Files.exists(end)) {
            Files.createFile(end);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nvmlInit_v2",
                "nvmlDeviceGetCount_v2",
                "nvmlDeviceGetComputeRunningProcesses_v3",
                "nvmlSystemGetDriverVersion"
            })
    void answersAtTheDeadlineAndAtOnceUntilTheCallReturns(String function) throws Exception {
        try (var source = hangingIn(function)) {
            var atDeadline = Sources.failure(source.read());
            assertThat(atDeadline.cause()).isEqualTo(Cause.TIMEOUT);
            assertThat(atDeadline.reason()).matches("NVML does not answer: .* has not returned within 300 ms");
            readUntilItHangsIn(function, source);
            var failure = Sources.failure(source.read());
            assertThat(failure.cause()).isEqualTo(Cause.BUSY);
            assertThat(failure.reason())
                    .matches("NVML still does not answer: %s has not returned for [0-9]+ s".formatted(function));
            source.release(); // leaves the call alone
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"nvmlInit_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetProcessUtilization"})
    void initializesAgainAfterTheCallHasReturned(String function) throws Exception {
        try (var source = hangingIn(function)) {
            readUntilItHangsIn(function, source);
            nvml.retain(line -> !line.startsWith("hang")).gpus(2);
            Files.createFile(end);
            assertThat(Sources.devices(readAfterwards(source))).hasSize(2);
            var calls = new ArrayList<>(nvml.recordedCalls());
            assertThat(calls.subList(calls.indexOf(function) + 1, calls.size()))
                    .startsWith("nvmlShutdown", "nvmlInit_v2");
        }
    }

    @Test
    void theShutdownThatHangsIsLeftAlone() throws Exception {
        try (var source = new NvmlSource(nvml.path().toString(), SHORT)) {
            nvml.hang("nvmlShutdown", end);
            await().atMost(PATIENCE).until(() -> {
                source.read();
                source.release();
                return nvml.recordedCalls().contains("nvmlShutdown");
            });
            assertThat(Sources.failure(source.read()).cause()).isEqualTo(Cause.BUSY);
            Files.createFile(end);
            assertThat(Sources.devices(readAfterwards(source))).hasSize(1);
        }
    }

    @Test
    void anInterruptedReadingIsLikeOneThatHung() throws Exception {
        try (var source = new NvmlSource(nvml.path().toString(), PATIENCE)) {
            nvml.hang("nvmlDeviceGetUUID", end);
            Thread.currentThread().interrupt();
            assertThatThrownBy(source::read).isInstanceOf(InterruptedException.class);
            Files.createFile(end);
            assertThat(Sources.devices(readAfterwards(source))).hasSize(1);
        }
    }

    @Test
    void theThreadIsADaemon() throws Exception {
        try (var source = hangingIn("nvmlInit_v2")) {
            source.read();
            assertThat(Thread.getAllStackTraces().keySet())
                    .filteredOn(thread -> thread.getName().equals("nvml"))
                    .isNotEmpty()
                    .allMatch(Thread::isDaemon);
        }
    }

    private NvmlSource hangingIn(String function) throws IOException {
        nvml.hang(function, end);
        return new NvmlSource(nvml.path().toString(), SHORT);
    }

    /** On a busy machine the deadline can pass before the function is called. */
    private void readUntilItHangsIn(String function, NvmlSource source) {
        await().atMost(PATIENCE).until(() -> {
            source.read();
            return nvml.recordedCalls().contains(function);
        });
    }

    /** Reads until the earlier call has returned; with a short deadline a busy machine needs several readings. */
    private static NvmlFacts readAfterwards(NvmlSource source) {
        return await().atMost(PATIENCE).until(source::read, Listed.class::isInstance);
    }
}
