package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Answer;
import dev.genv.enforcer.facts.NvmlFacts.Status;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The temperature and the utilization of a GPU. */
class StatusReaderTest {
    private static final String TEMPERATURE_V = "nvmlDeviceGetTemperatureV";
    private static final String TEMPERATURE = "nvmlDeviceGetTemperature";
    private static final String UTILIZATION = "nvmlDeviceGetUtilizationRates";

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"TEMPERATURE_V", "MIG"})
    void readsBothWithAndWithoutTheNewerFunction(String without) throws Exception {
        var nvml = new FakeNvml(folder, without).gpus(2).line("status 0 61 87").line("status 1 -3 0");
        assertThat(read(nvml))
                .isEqualTo(List.of(new Status(Answer.of(61), Answer.of(87)), new Status(Answer.of(-3), Answer.of(0))));
    }

    @ParameterizedTest
    @ValueSource(ints = {13, 25})
    void readsTheOlderTemperatureIfTheDriverDoesNotKnowTheNewerOne(int code) throws Exception {
        var nvml = new FakeNvml(folder).gpus(1).line("status 0 61 87").fail(TEMPERATURE_V, code);
        assertThat(read(nvml)).containsExactly(new Status(Answer.of(61), Answer.of(87)));
    }

    @Test
    void bothAreUnknownIfTheLibraryIsTooOld() throws Exception {
        assertThat(read(new FakeNvml(folder, "STATUS").gpus(1)))
                .containsExactly(new Status(Answer.fault(13, TEMPERATURE), Answer.fault(13, UTILIZATION)));
    }

    /** Also an error that from another function would concern the whole GPU (15, 16) or all of them (1, 9, 17, 18). */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4, 9, 15, 16, 17, 18, 26, 999})
    void anErrorCostsNothingButTheValue(int code) throws Exception {
        var nvml = new FakeNvml(folder)
                .gpus(2)
                .process(1, 11, 300)
                .line("status 0 61 87")
                .line("status 1 48 12")
                .fail(TEMPERATURE_V, code)
                .fail(UTILIZATION, code);
        try (var source = NvmlSource.withStatus(nvml.path().toString(), Duration.ofMinutes(2))) {
            var devices = Sources.devices(source.read());
            assertThat(devices)
                    .extracting(NvmlFacts.Device::status)
                    .containsOnly(new Status(Answer.fault(code, TEMPERATURE_V), Answer.fault(code, UTILIZATION)));
            assertThat(devices.getLast().compute())
                    .isEqualTo(Answer.of(List.of(new NvmlFacts.DeviceProcess(11, 300L, null, null))));
        }
    }

    @Test
    void impossibleValuesAreUnknown() throws Exception {
        var nvml = new FakeNvml(folder).gpus(2).line("status 0 1001 101").line("status 1 -101 4294967295");
        assertThat(read(nvml)).containsOnly(new Status(Answer.fault(21, TEMPERATURE_V), Answer.fault(21, UTILIZATION)));
    }

    @Test
    void neitherIsReadIfItIsNotAskedFor() throws Exception {
        var nvml = new FakeNvml(folder).gpus(1);
        var calls = Files.createFile(nvml.path().resolveSibling("nvml.calls"));
        try (var source = Sources.of(nvml)) {
            assertThat(Sources.devices(source.read()).getFirst().status()).isNull();
        }
        assertThat(Files.readAllLines(calls))
                .contains("nvmlDeviceGetUUID")
                .doesNotContain(TEMPERATURE, TEMPERATURE_V, UTILIZATION);
    }

    private static List<Status> read(FakeNvml nvml) throws InterruptedException, IOException {
        try (var source = NvmlSource.withStatus(nvml.path().toString(), Duration.ofMinutes(2))) {
            return Sources.devices(source.read()).stream()
                    .map(NvmlFacts.Device::status)
                    .toList();
        }
    }
}
