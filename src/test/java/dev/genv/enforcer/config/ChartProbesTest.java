package dev.genv.enforcer.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.config.settings.SettingsReader;
import dev.genv.enforcer.config.settings.Variables;
import dev.genv.enforcer.config.settings.Variables.InvalidSettingsException;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The chart's startup probe waits for the longest possible first cycle, which chart and service compute alike. */
class ChartProbesTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"5m,5s", "30s,2m", "200s,7s", "299500ms,1ms"})
    void chartStatesTheDurationOfTheFirstCycleOnANode(String gpuTimeout, String lockTimeout)
            throws InvalidSettingsException {
        var settings = SettingsReader.read(new Variables(
                Map.of("GENV_ENFORCER_GPU_TIMEOUT", gpuTimeout, "GENV_ENFORCER_LOCK_TIMEOUT", lockTimeout)));
        var longest = Configuration.cycleSchedule(settings).longest();
        var values = "settings: {gpuTimeout: %s, lockTimeout: %s}".formatted(gpuTimeout, lockTimeout);
        assertThat(RenderedChart.errorOf(values)).contains(sentence(longest));
    }

    @ParameterizedTest
    @ValueSource(strings = {"80s", "10m", "99999ms"})
    void chartStatesTheDurationOfTheFirstCycleOverSsh(String timeout) throws InvalidSettingsException, IOException {
        var known = Files.createFile(folder.resolve("known_hosts"));
        var settings = SettingsReader.read(new Variables(Map.of(
                "GENV_ENFORCER_REMOTE_HOSTS",
                "raz@gpu-1",
                "GENV_ENFORCER_REMOTE_KNOWN_HOSTS",
                known.toString(),
                "GENV_ENFORCER_REMOTE_TIMEOUT",
                timeout)));
        // For the observation and for the actions.
        var longest = settings.actionTimeout().multipliedBy(2);
        assertThat(RenderedChart.errorOf("{mode: remote, remote: {timeout: %s}}".formatted(timeout)))
                .contains(sentence(longest));
    }

    private static String sentence(Duration longest) {
        return "the first cycle may take %d s,"
                .formatted(longest.plusMillis(999).toSeconds());
    }
}
