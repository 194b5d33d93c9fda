package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.enforcement.action.SafetyLimits;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.plan.RuleMode;
import dev.genv.enforcer.policy.plan.RuleName;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
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
        assertThat(settings.ruleModes())
                .containsEntry(RuleName.NON_ENV_PROCESSES, RuleMode.OFF)
                .containsEntry(RuleName.INACTIVE_ENV_PROCESSES, RuleMode.OFF)
                .containsEntry(RuleName.ENV_DEVICES, RuleMode.ENFORCE)
                .containsEntry(RuleName.ENV_MEMORY, RuleMode.ENFORCE)
                .containsEntry(RuleName.MAX_DEVICES_PER_USER, RuleMode.ENFORCE);
        assertThat(settings.ruleModes()).containsEntry(RuleName.ENV_OWNER, RuleMode.AUDIT);
        assertThat(settings.safetyLimits())
                .isEqualTo(new SafetyLimits(Duration.ZERO, Duration.ofSeconds(60), Duration.ofSeconds(30), 10));
        assertThat(settings.deviceLimits().limitFor("raz")).isEmpty();
        assertThat(settings.stateDirectory()).isEqualTo(Path.of("/var/tmp/genv"));
        assertThat(settings.state().lockTimeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(settings.gpu().gpuTimeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(settings.gpuProgram()).isEqualTo("nvidia-smi");
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

    @ParameterizedTest
    @ValueSource(strings = {"abc", "-1", "1x", "500ms", "25h", "10 s s", "PT10S", "99999999999"})
    void refusesInvalidIntervals(String text) {
        assertThat(errors(Map.of("GENV_ENFORCER_INTERVAL", text)))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_INTERVAL=" + text + ": expected 0 for a single cycle");
    }

    @ParameterizedTest
    @CsvSource({"off,OFF", "false,OFF", "Audit,AUDIT", "enforce,ENFORCE", "TRUE,ENFORCE"})
    void readsModesOfRules(String text, RuleMode mode) throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_ENFORCER_NON_ENV_PROCESSES", text)).ruleModes())
                .containsEntry(RuleName.NON_ENV_PROCESSES, mode);
        assertThat(read(Map.of("GENV_ENFORCER_MAX_DEVICES_PER_USER_MODE", text)).ruleModes())
                .containsEntry(RuleName.MAX_DEVICES_PER_USER, mode);
    }

    @Test
    void readsLimits() throws InvalidSettingsException {
        var limits = read(Map.of(
                        "GENV_ENFORCER_MAX_DEVICES_PER_USER", "2",
                        "GENV_ENFORCER_MAX_DEVICES_FOR_USER", "john=3, paul=0  a=b=4"))
                .deviceLimits();

        assertThat(limits.limitFor("ringo")).hasValue(2);
        assertThat(limits.limitFor("john")).hasValue(3);
        assertThat(limits.limitFor("paul")).hasValue(0);
        assertThat(limits.limitFor("a=b")).hasValue(4);
    }

    @Test
    void readsSafetyLimits() throws InvalidSettingsException {
        var safetyLimits = read(Map.of(
                        "GENV_ENFORCER_GRACE_PERIOD", "2m",
                        "GENV_ENFORCER_STATE_CHANGE_GRACE", "0",
                        "GENV_ENFORCER_KILL_AFTER", "Never",
                        "GENV_ENFORCER_COMPLIANCE_PERIOD", "10m",
                        "GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE", "0"))
                .safetyLimits();

        assertThat(safetyLimits)
                .isEqualTo(new SafetyLimits(Duration.ofMinutes(2), Duration.ZERO, null, Duration.ofMinutes(10), 0));
        assertThat(errors(Map.of("GENV_ENFORCER_COMPLIANCE_PERIOD", "0")))
                .containsExactly(
                        "GENV_ENFORCER_COMPLIANCE_PERIOD=0: expected a time from 1s to 24h, such as 60s or 10m");
    }

    @Test
    void singleCycleHasNoSafetyLimits() throws InvalidSettingsException {
        var single = Map.of("GENV_ENFORCER_INTERVAL", "0", "GENV_ENFORCER_KILL_AFTER", "1s");

        assertThat(read(single).safetyLimits()).isEqualTo(new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 0));
        assertThat(errors(Map.of("GENV_ENFORCER_INTERVAL", "0", "GENV_ENFORCER_GRACE_PERIOD", "5s")))
                .singleElement()
                .asString()
                .startsWith("GENV_ENFORCER_GRACE_PERIOD=5s: expected 0s with GENV_ENFORCER_INTERVAL=0");
        assertThat(read(Map.of("GENV_ENFORCER_INTERVAL", "0", "GENV_ENFORCER_MAX_TERMINATIONS_PER_CYCLE", "3"))
                        .safetyLimits()
                        .maxTerminations())
                .isEqualTo(3);
    }

    @Test
    void envOwnerCanBeSetToEnforce() throws InvalidSettingsException {
        assertThat(read(Map.of("GENV_ENFORCER_ENV_OWNER", "enforce")).ruleModes())
                .containsEntry(RuleName.ENV_OWNER, RuleMode.ENFORCE);
        assertThat(read(Map.of("GENV_ENFORCER_ENV_OWNER", "off")).ruleModes())
                .containsEntry(RuleName.ENV_OWNER, RuleMode.OFF);
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
    void reportsAllInvalidVariablesAtOnce() {
        var errors = errors(Map.of(
                "GENV_ENFORCER_MODE", "enforec",
                "GENV_ENFORCER_MAX_DEVICES_PER_USER", "-1",
                "GENV_ENFORCER_MAX_DEVICES_FOR_USER", "john",
                "GENV_ENFORCER_STATE_DIR", "relative",
                "GENV_ENFORCER_GPU_SOURCE", "nvml",
                "GENV_ENFORCER_REQUIRE_HOST_PID", "maybe",
                "GENV_TERMINATE_PROCESSES", "no"));

        assertThat(errors)
                .containsExactlyInAnyOrder(
                        "GENV_ENFORCER_MODE=enforec: expected enforce or audit",
                        "GENV_ENFORCER_MAX_DEVICES_PER_USER=-1: expected a whole number from 0",
                        "GENV_ENFORCER_MAX_DEVICES_FOR_USER=john:"
                                + " expected users with a limit each, each once, such as john=3,paul=2",
                        "GENV_ENFORCER_STATE_DIR=relative: expected an absolute path",
                        "GENV_ENFORCER_GPU_SOURCE=nvml: expected auto or nvidia-smi",
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
    @ValueSource(strings = "GENV_ENFORCER_NVML_LIBRARY")
    void refusesUnsupportedVariables(String name) {
        assertThat(errors(Map.of(name, "1"))).hasSize(1);
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
    void takesTextLiterally() throws InvalidSettingsException {
        var text = "${user.home} a\\,b \\${x}";

        assertThat(read(Map.of("GENV_ENFORCER_NODE_NAME", text)).general().nodeName())
                .contains(text);
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
                        "GENV_ENFORCER_GRACE_PERIOD", "1s",
                        "GENV_ENFORCER_MODE", "x",
                        "GENV_ENFORCER_REMOTE_QUIET", "true",
                        "GENV_ENFORCER_REMOTE_SUDO", "x")))
                .extracting(line -> line.substring(0, line.indexOf('=')))
                .containsExactly(
                        "GENV_ENFORCER_GRACE_PERIOD",
                        "GENV_ENFORCER_MODE",
                        "GENV_ENFORCER_REMOTE_QUIET",
                        "GENV_ENFORCER_REMOTE_SUDO");
    }

    /** Otherwise the service would enforce on its own node, which nobody meant. */
    @Test
    void aListWithoutAMachineStillMeansOtherMachines(@TempDir Path folder) throws Exception {
        var known = Files.createFile(folder.resolve("known_hosts")).toString();
        var settings = read(Map.of("GENV_ENFORCER_REMOTE_HOSTS", ",", "GENV_ENFORCER_REMOTE_KNOWN_HOSTS", known));

        assertThat(settings.isRemote()).isTrue();
    }

    private static Settings read(Map<String, String> environment) throws InvalidSettingsException {
        return SettingsReader.read(new Variables(environment));
    }

    private static List<String> errors(Map<String, String> environment) {
        return catchThrowableOfType(InvalidSettingsException.class, () -> read(environment))
                .lines();
    }
}
