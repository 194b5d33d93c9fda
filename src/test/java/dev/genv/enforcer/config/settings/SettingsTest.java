package dev.genv.enforcer.config.settings;

import static dev.genv.enforcer.config.settings.SettingsReading.errors;
import static dev.genv.enforcer.config.settings.SettingsReading.read;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.enforcement.host.SafetyLimits;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SettingsTest {
    @Test
    void hasTheDocumentedDefaults() throws InvalidSettingsException {
        var settings = read(Map.of());

        assertThat(settings.general().interval()).isEqualTo(Duration.ofSeconds(10));
        assertThat(settings.general().mode()).isEqualTo(ServiceMode.ENFORCE);
        assertThat(settings.general().terminateProcesses()).isTrue();
        assertThat(settings.safetyLimits())
                .isEqualTo(new SafetyLimits(Duration.ofSeconds(30), Duration.ofSeconds(30), 10));
        assertThat(settings.stateDirectory()).isEqualTo(Path.of("/var/tmp/genv"));
        assertThat(settings.state().lockTimeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(settings.gpu().gpuTimeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(settings.gpu().nvidiaSmi()).isEqualTo("nvidia-smi");
        assertThat(settings.safety().requireHostPid()).isTrue();
        assertThat(settings.general().nodeName()).isEmpty();
        assertThat(settings.safety().protectedExecutables()).isEmpty();
        assertThat(settings.safety().exemptUsers()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0,0", "10,10000", "10s,10000", " 2m ,120000", "1h,3600000", "1500ms,1500"})
    void readsIntervals(String text, long millis) throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_ENFORCER_INTERVAL", text)).general().interval())
                .isEqualTo(Duration.ofMillis(millis));
    }

    @Test
    void readsSafetyLimits() throws InvalidSettingsException {
        var safetyLimits = read(Map.of(
                        "GENV_ENFORCER_GRACE", "2m",
                        "GENV_ENFORCER_KILL_AFTER", "Never",
                        "GENV_ENFORCER_COMPLIANCE_PERIOD", "10m",
                        "GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE", "0"))
                .safetyLimits();

        assertThat(safetyLimits).isEqualTo(new SafetyLimits(Duration.ofMinutes(2), null, Duration.ofMinutes(10), 0));
        assertThat(errors(Map.of("GENV_ENFORCER_COMPLIANCE_PERIOD", "0")))
                .containsExactly(
                        "GENV_ENFORCER_COMPLIANCE_PERIOD=0: expected a time from 1s to 24h, such as 60s or 10m");
    }

    @Test
    void singleCycleHasNoSafetyLimits() throws InvalidSettingsException {
        var single =
                Map.of("GENV_ENFORCER_INTERVAL", "0", "GENV_ENFORCER_GRACE", "5s", "GENV_ENFORCER_KILL_AFTER", "1s");

        assertThat(read(single).safetyLimits()).isEqualTo(new SafetyLimits(Duration.ZERO, null, 0));
        assertThat(read(Map.of("GENV_ENFORCER_INTERVAL", "0", "GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE", "3"))
                        .safetyLimits()
                        .maxTerminations())
                .isEqualTo(3);
    }

    @Test
    void readsProtectedProgramsAndExemptUsers() throws InvalidSettingsException {
        var settings = read(Map.of(
                "GENV_ENFORCER_PROTECTED_EXECUTABLES", "/opt/a, /opt/b@alice /opt/c@*",
                "GENV_ENFORCER_EXEMPT_USERS", " alice,1003 , svc-gpu$"));

        assertThat(settings.safety().protectedExecutables())
                .containsExactly(
                        new ProtectedExecutable(Path.of("/opt/a"), "0"),
                        new ProtectedExecutable(Path.of("/opt/b"), "alice"),
                        new ProtectedExecutable(Path.of("/opt/c"), "*"));
        assertThat(settings.safety().exemptUsers()).containsExactly("alice", "1003", "svc-gpu$");
    }

    @Test
    void treatsAnEmptyValueAsUnset() throws InvalidSettingsException {
        var settings = read(Map.of("GENV_ENFORCER_MODE", "", "GENV_TMPDIR", " ", "GENV_ENFORCER_WHATEVER", ""));

        assertThat(settings.general().mode()).isEqualTo(ServiceMode.ENFORCE);
        assertThat(settings.stateDirectory()).isEqualTo(Path.of("/var/tmp/genv"));
    }

    @Test
    void readsTheVariablesOfGenv() throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_TMPDIR", "/srv/genv")).stateDirectory()).isEqualTo(Path.of("/srv/genv"));
        assertThat(read(Map.of("GENV_TMPDIR", "/srv/genv", "GENV_ENFORCER_STATE_DIR", "/x"))
                        .stateDirectory())
                .isEqualTo(Path.of("/x"));
        assertThat(read(Map.of("GENV_TERMINATE_PROCESSES", "0")).general().terminateProcesses())
                .isFalse();
        assertThat(read(Map.of("GENV_TERMINATE_PROCESSES", "1")).general().terminateProcesses())
                .isTrue();
    }

    @Test
    void takesTextLiterally() throws InvalidSettingsException {
        var text = "${user.home} a\\,b \\${x}";

        assertThat(read(Map.of("GENV_ENFORCER_NODE_NAME", text)).general().nodeName())
                .contains(text);
    }

    /** Otherwise the service would enforce on its own node instead of the machines. */
    @Test
    void aListWithoutAMachineStillMeansOtherMachines(@TempDir Path folder) throws Exception {
        var known = Files.createFile(folder.resolve("known_hosts")).toString();
        var settings = read(Map.of("GENV_ENFORCER_REMOTE_HOSTS", ",", "GENV_ENFORCER_REMOTE_KNOWN_HOSTS", known));

        assertThat(settings.isRemote()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"audit", "AUDIT", "aUdIt", " audit "})
    void aWordIsReadInAnyCase(String text) throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_ENFORCER_MODE", text)).general().mode()).isEqualTo(ServiceMode.AUDIT);
    }
}
