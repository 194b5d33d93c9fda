package dev.genv.enforcer.config;

import static org.assertj.core.api.Assertions.assertThat;

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

/** The chart's probe waits for a first cycle that takes as long as it may: both know how long that is. */
class ChartProbesTest {
    private static final String GPU_TIMEOUT = "genv.enforcer.gpu.timeout";
    private static final String LOCK_TIMEOUT = "genv.enforcer.lock.timeout";

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"5m,5s", "30s,2m", "200s,7s", "299500ms,1ms"})
    void onANode(String gpuTimeout, String lockTimeout) throws BadSettingsException {
        System.setProperty(GPU_TIMEOUT, gpuTimeout);
        System.setProperty(LOCK_TIMEOUT, lockTimeout);
        Duration longest;
        try {
            longest = new Wiring().pace().longest();
        } finally {
            System.clearProperty(GPU_TIMEOUT);
            System.clearProperty(LOCK_TIMEOUT);
        }
        var values = "settings: {gpuTimeout: %s, lockTimeout: %s}".formatted(gpuTimeout, lockTimeout);
        assertThat(RenderedChart.refusalOf(values)).contains(sentence(longest));
    }

    @ParameterizedTest
    @ValueSource(strings = {"80s", "10m", "99999ms"})
    void overSsh(String timeout) throws BadSettingsException, IOException {
        var known = Files.createFile(folder.resolve("known_hosts"));
        var fleet = FleetWiring.of(Settings.read(new Variables(Map.of(
                "GENV_ENFORCER_REMOTE_HOSTS",
                "raz@gpu-1",
                "GENV_ENFORCER_REMOTE_KNOWN_HOSTS",
                known.toString(),
                "GENV_ENFORCER_REMOTE_TIMEOUT",
                timeout))));
        assertThat(fleet).isNotNull();
        // For the look, and for what is done about it.
        var longest = fleet.mostTime().multipliedBy(2);
        assertThat(RenderedChart.refusalOf("{mode: remote, remote: {timeout: %s}}".formatted(timeout)))
                .contains(sentence(longest));
    }

    private static String sentence(Duration longest) {
        return "the first cycle may take %d s,"
                .formatted(longest.plusMillis(999).toSeconds());
    }
}
