package dev.genv.enforcer.config.settings;

import static dev.genv.enforcer.config.settings.SettingsReading.errors;
import static dev.genv.enforcer.config.settings.SettingsReading.read;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.model.Memory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SettingErrorsTest {
    @ParameterizedTest
    @ValueSource(strings = {"abc", "-1", "1x", "500ms", "25h", "10 s s", "PT10S", "99999999999"})
    void refusesInvalidIntervals(String text) {
        assertThat(errors(Map.of("GENV_ENFORCER_INTERVAL", text)))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_INTERVAL=" + text + ": expected 0 for a single cycle");
    }

    @ParameterizedTest
    @ValueSource(strings = {"Xorg", "opt/a", "/opt/a@", "/opt/a,b@alice", "@alice"})
    void refusesProgramsWithoutAnAbsolutePath(String text) {
        assertThat(errors(Map.of("GENV_ENFORCER_PROTECTED_EXECUTABLES", text)))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_PROTECTED_EXECUTABLES=" + text + ": expected absolute paths");
    }

    @ParameterizedTest
    @ValueSource(strings = {"@", "alice@host", "4294967295", "9999999999", "12345678901", "a=b", "*", "/home/alice"})
    void refusesInvalidUsers(String text) {
        assertThat(errors(Map.of("GENV_ENFORCER_EXEMPT_USERS", text)))
                .containsExactly(
                        "GENV_ENFORCER_EXEMPT_USERS=" + text + ": expected names or uids of users, such as alice,1003");
    }

    @Test
    void reportsAllInvalidVariablesAtOnce() {
        var errors = errors(Map.of(
                "GENV_ENFORCER_MODE", "enforec",
                "GENV_ENFORCER_MAX_DEVICES_PER_USER", "-1",
                "GENV_ENFORCER_MAX_DEVICES_FOR_USER", "john",
                "GENV_ENFORCER_STATE_DIR", "relative",
                "GENV_ENFORCER_GENV_METRICS", "some",
                "GENV_ENFORCER_REQUIRE_HOST_PID", "maybe",
                "GENV_TERMINATE_PROCESSES", "no"));

        assertThat(errors)
                .containsExactlyInAnyOrder(
                        "GENV_ENFORCER_MODE=enforec: expected enforce or audit",
                        "GENV_ENFORCER_MAX_DEVICES_PER_USER=-1: expected a whole number from 0",
                        "GENV_ENFORCER_MAX_DEVICES_FOR_USER=john:"
                                + " expected users with a limit each, each once, such as john=3,paul=2",
                        "GENV_ENFORCER_STATE_DIR=relative: expected an absolute path",
                        "GENV_ENFORCER_GENV_METRICS=some: expected off, hosts or all",
                        "GENV_ENFORCER_REQUIRE_HOST_PID=maybe: expected true or false",
                        "GENV_TERMINATE_PROCESSES=no: expected 0 or 1");
    }

    @Test
    void refusesUnknownVariableAndSuggestsASetting() {
        assertThat(errors(Map.of("GENV_ENFORCER_MAX_DEVICES_PER_USR", "1", "GENV_ENFORCER_QQQQQQQQQQQQQQQ", "2")))
                .containsExactly(
                        "GENV_ENFORCER_MAX_DEVICES_PER_USR: there is no such setting;"
                                + " did you mean GENV_ENFORCER_MAX_DEVICES_PER_USER?",
                        "GENV_ENFORCER_QQQQQQQQQQQQQQQ: there is no such setting");
    }

    @ParameterizedTest
    @ValueSource(strings = {"GENV_ENFORCER_GRACE_PERIOD", "GENV_ENFORCER_STATE_CHANGE_GRACE"})
    void refusesReplacedSettingAndNamesItsReplacement(String name) {
        assertThat(errors(Map.of(name, "0s")))
                .containsExactly(name + ": there is no such setting; GENV_ENFORCER_GRACE replaces it");
    }

    @ParameterizedTest
    @ValueSource(strings = {"DIR", "MAX_SIZE", "MAX_AGE"})
    void refusesSettingsOfTheJournalAndNamesThoseOfTheDatabase(String name) {
        assertThat(errors(Map.of("GENV_ENFORCER_JOURNAL_" + name, "x")))
                .containsExactly("GENV_ENFORCER_JOURNAL_%s: there is no such setting; GENV_ENFORCER_DATA_%s replaces it"
                        .formatted(name, name));
    }

    @Test
    void refusesADatabaseThatIsTooSmall() throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_ENFORCER_DATA_MAX_SIZE", "4MiB")).data().dataMaxSize())
                .isEqualTo(Memory.ofMebibytes(4));
        assertThat(errors(Map.of("GENV_ENFORCER_DATA_MAX_SIZE", "4095KiB")))
                .containsExactly("GENV_ENFORCER_DATA_MAX_SIZE=4095KiB:"
                        + " expected a size from 4MiB to 1024GiB, such as 256MiB or 2GiB");
    }

    @ParameterizedTest
    @ValueSource(strings = {"GPU_SOURCE", "NVML_LIBRARY", "NVML_HOLD"})
    void refusesRemovedSettingAndSaysWhy(String name) {
        assertThat(errors(Map.of("GENV_ENFORCER_" + name, "x")))
                .containsExactly("GENV_ENFORCER_" + name
                        + ": there is no such setting; the service reads the GPUs with nvidia-smi only");
    }

    @Test
    void refusesTheChoiceOfTheAgent() {
        assertThat(errors(Map.of("GENV_ENFORCER_REMOTE_AGENT", "genv")))
                .containsExactly("GENV_ENFORCER_REMOTE_AGENT: there is no such setting;"
                        + " the service's own Python program replaces it");
    }

    @Test
    void requiresAValidTokenFileAtTheStart(@TempDir Path folder) throws Exception {
        var file = folder.resolve("token");
        var variable = Map.of("GENV_ENFORCER_API_TOKEN_FILE", file.toString());
        Files.writeString(file, "s3cret\n");
        assertThat(read(variable).http().apiTokenFile()).contains(file);
        assertThat(read(Map.of()).http().apiTokenFile()).isEmpty();

        Files.writeString(file, "top s3cret");
        assertThat(errors(variable))
                .containsExactly("GENV_ENFORCER_API_TOKEN_FILE: expected a file with one token of at most 4096 ASCII"
                        + " characters without blanks");
        Files.delete(file);
        assertThat(errors(variable)).singleElement().asString().contains("cannot be read");
        assertThat(errors(Map.of("GENV_ENFORCER_API_TOKEN_FILE", "token")))
                .containsExactly("GENV_ENFORCER_API_TOKEN_FILE: expected an absolute path");
    }

    @Test
    void ignoresVariablesThatKubernetesAdds() throws InvalidSettingsException {
        read(Map.of(
                "GENV_ENFORCER_PORT", "tcp://10.0.0.1:8080",
                "GENV_ENFORCER_PORT_8080_TCP", "tcp://10.0.0.1:8080",
                "GENV_ENFORCER_PORT_8080_TCP_ADDR", "10.0.0.1",
                "GENV_ENFORCER_SERVICE_HOST", "10.0.0.1",
                "GENV_ENFORCER_SERVICE_PORT", "8080",
                "GENV_ENFORCER_SERVICE_PORT_HTTP", "8080",
                "GENV_ENFORCER_METRICS_SERVICE_HOST", "10.0.0.2",
                "GENV_ENFORCER_METRICS_PORT", "tcp://10.0.0.2:8080",
                "GENV_ENFORCER_METRICS_PORT_8080_TCP_PROTO", "tcp"));
        assertThat(errors(Map.of("GENV_ENFORCER_PORT", "8080"))).hasSize(1);
    }

    @Test
    void reportsAnInvalidValueThatReadsLikeAnErrorMessage() {
        var value = "a=b\" threw an Exception whilst being converted c";

        assertThat(errors(Map.of("GENV_ENFORCER_EXEMPT_USERS", value)))
                .containsExactly("GENV_ENFORCER_EXEMPT_USERS=" + value
                        + ": expected names or uids of users, such as alice,1003");
    }

    @Test
    void reportsContradictionsTogetherWithInvalidValues() {
        assertThat(errors(Map.of(
                        "GENV_ENFORCER_INTERVAL", "0",
                        "GENV_ENFORCER_DATA_DIR", "/data",
                        "GENV_ENFORCER_MODE", "x",
                        "GENV_ENFORCER_REMOTE_QUIET", "true",
                        "GENV_ENFORCER_REMOTE_SUDO", "x")))
                .extracting(line -> line.substring(0, line.indexOf('=')))
                .containsExactly(
                        "GENV_ENFORCER_DATA_DIR",
                        "GENV_ENFORCER_MODE",
                        "GENV_ENFORCER_REMOTE_QUIET",
                        "GENV_ENFORCER_REMOTE_SUDO");
    }
}
