package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.KeyPair;
import dev.genv.enforcer.config.settings.Variables.InvalidSettingsException;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The service accepts every setting of the chart. */
class ChartSettingsTest {
    private static final String FOLDER = "/etc/genv-enforcer/";
    private static final String NODE_NAME = "GENV_ENFORCER_NODE_NAME";
    private static final String STATE_DIRECTORY = "GENV_ENFORCER_STATE_DIR";
    private static final String DATA_FOLDER = "GENV_ENFORCER_DATA_DIR";
    private static final String ALLOWED_HOSTS = "GENV_ENFORCER_HTTP_ALLOWED_HOSTS";
    /** The cluster sets these variables. */
    private static final String SERVICE_NAMES =
            "genv-enforcer,genv-enforcer.gpu,genv-enforcer.gpu.svc,genv-enforcer.gpu.svc.cluster.local";

    /** In a cluster one machine that does not answer would restart the pod again and again; the setting is for a single cycle. */
    private static final String EXIT_ON_ERROR = "GENV_ENFORCER_REMOTE_EXIT_ON_ERROR";

    /** The settings in them are called like their variables, and no example needs to set them. */
    private static final Map<String, String> SECTIONS = Map.of(
            "/settings", "GENV_ENFORCER_",
            "/messages/mail", "GENV_ENFORCER_MAIL_",
            "/messages/webhook", "GENV_ENFORCER_WEBHOOK_");

    @TempDir
    Path folder;

    /** Besides the mode and the exempt cgroups, the chart sets no variable without a value, so the service's defaults apply. */
    @Test
    void defaultsEqualThoseOfTheService() throws Exception {
        var bare = Map.of(
                NODE_NAME,
                "node-1",
                "GENV_ENFORCER_MODE",
                "audit",
                "GENV_ENFORCER_EXEMPT_CGROUPS", // the pods of the cluster
                "/kubepods.slice,/kubepods",
                ALLOWED_HOSTS,
                SERVICE_NAMES,
                STATE_DIRECTORY, // the chart mounts it
                "/var/tmp/genv",
                DATA_FOLDER, // the chart mounts it too
                "/var/lib/genv-enforcer");
        assertThat(read(RenderedChart.of(""))).isEqualTo(SettingsReader.read(new Variables(bare)));
    }

    /** ChartValuesTest compares the variables with the values. */
    @Test
    void filesAndAddedNamesReachTheService() throws Exception {
        var http = read(RenderedChart.ofExample("full")).http();
        assertThat(http.apiTokenFile()).isPresent();
        assertThat(http.httpAllowedHosts()).contains("gpu-enforcer.gpu.svc", "enforcer.example.org");

        var remote = read(RenderedChart.ofExample("remote")).remote();
        assertThat(remote.hosts()).isEmpty();
        assertThat(remote.hostfile().orElseThrow()).hasContent("gpu-1\nraz@gpu-2:2222\n[2001:db8::7]:22");
        assertThat(remote.passphraseFile()).isPresent();
        assertThat(remote.sshConfig()).isPresent();

        // The administrator writes the host file, so the chart sets the other machines in a variable.
        var existing = read(RenderedChart.ofExample("existing")).remote();
        assertThat(existing.hosts().orElseThrow()).hasToString("[gpu-9]");
        assertThat(existing.hostfile().orElseThrow()).hasContent("gpu-7");
    }

    /** The service does not start with an unknown setting. */
    @Test
    void chartCanSetEverySettingOfTheService() throws Exception {
        var set = new TreeSet<String>();
        for (var name : Set.of("full", "remote", "existing")) {
            set.addAll(environment(RenderedChart.ofExample(name)).keySet());
        }
        var known = new TreeSet<>(SettingsReader.variables());
        var values = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("values.yaml")));
        SECTIONS.forEach((section, prefix) -> values.at(section).fieldNames().forEachRemaining(name -> {
            var variable = prefix + name.replaceAll("([A-Z])", "_$1").toUpperCase(Locale.ROOT);
            if (known.contains(variable)) {
                set.add(variable);
            }
        }));
        known.remove("GENV_TMPDIR"); // the state directory is always set
        known.remove(EXIT_ON_ERROR);
        set.remove("TZ"); // the example adds it
        assertThat(set).isEqualTo(known);
    }

    /** The chart refuses them before the installation, instead of the pod at each start. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        mode|off|GENV_ENFORCER_MODE
        maxDevicesPerUser|1000000000|GENV_ENFORCER_MAX_DEVICES_PER_USER
        stateDir|genv|GENV_ENFORCER_STATE_DIR
        genvMetrics|some|GENV_ENFORCER_GENV_METRICS
        protectedExecutables|[x]|GENV_ENFORCER_PROTECTED_EXECUTABLES
        httpAllowedHosts|[x:80]|GENV_ENFORCER_HTTP_ALLOWED_HOSTS
        """)
    void chartRefusesWhatTheServiceRefuses(String value, String bad, String variable) {
        RenderedChart.errorOf("settings: {%s: %s}".formatted(value, bad));
        var environment = Map.of(variable, bad.replaceAll("[\\[\\]]", ""));
        assertThatThrownBy(() -> SettingsReader.read(new Variables(environment)))
                .isInstanceOf(InvalidSettingsException.class)
                .hasMessageStartingWith(variable + "=");
    }

    /** The chart does not check what the service refuses at its start; the log names the variable. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        settings: {interval: 999ms}|INTERVAL
        settings: {grace: 1441m}|GRACE
        settings: {killAfter: 999ms}|KILL_AFTER
        settings: {compliancePeriod: 0}|COMPLIANCE_PERIOD
        settings: {exemptUsers: [4294967295]}|EXEMPT_USERS
        data: {maxSize: 4095KiB}|DATA_MAX_SIZE
        tls: {clientCa: {existingSecret: x}}|TLS_CLIENT_CA_FILE
        messages: {mail: {host: m, to: '{user}@example.org'}}|MAIL_FROM
        messages: {mail: {host: m, from: a@b}}|MAIL_TO
        messages: {mail: {reportTo: a@b}}|MAIL_REPORT_TO
        messages: {mail: {host: m, from: a@b, reportTo: a@b, user: x}}|MAIL_PASSWORD_FILE
        messages: {webhook: {existingSecret: x, secretKey: key}}|WEBHOOK_SECRET_FILE
        messages: {webhook: {existingSecret: x, urlKey: key, url: 'https://x/'}}|WEBHOOK_URL_FILE
        mode: remote, remote: {hosts: [r@gpu-1]}, messages: {terminal: "on"}|TERMINAL_MESSAGES
        mode: remote, remote: {hosts: [r@gpu-1]}|REMOTE_KNOWN_HOSTS
        """)
    void serviceRefusesWhatTheChartLeavesToIt(String values, String variable) throws Exception {
        var environment = environment(RenderedChart.of("{%s}".formatted(values)));
        assertThatThrownBy(() -> SettingsReader.read(new Variables(environment)))
                .isInstanceOf(InvalidSettingsException.class)
                .hasMessageContaining("GENV_ENFORCER_" + variable);
    }

    private Settings read(RenderedChart chart) throws InvalidSettingsException, IOException, JSchException {
        return SettingsReader.read(new Variables(environment(chart)));
    }

    /** The environment of the container, with its files in a folder of the test. */
    private Map<String, String> environment(RenderedChart chart) throws IOException, JSchException {
        var environment = new HashMap<>(chart.environment());
        for (var each : chart.container().path("env")) {
            if (each.at("/valueFrom/fieldRef/fieldPath").asText().equals("spec.nodeName")) {
                environment.put(each.path("name").asText(), "node-1");
            }
        }
        for (var entry : environment.entrySet()) {
            if (entry.getValue().startsWith(FOLDER)) {
                var name = entry.getValue().substring(FOLDER.length());
                var file = folder.resolve(name);
                Files.writeString(file, content(chart, name));
                entry.setValue(file.toString());
            }
        }
        return environment;
    }

    /** The chart's content of a file, or else an example of an administrator's. */
    private static String content(RenderedChart chart, String name) throws JSchException {
        assertThat(chart.pod().at("/volumes").toString()).contains("\"path\":\"" + name + "\"");
        for (var map : chart.all("ConfigMap")) {
            if (map.path("data").has(name)) {
                return map.path("data").path(name).asText();
            }
        }
        return switch (name) {
            case "hosts" -> "gpu-7\n";
            case "known_hosts" -> "";
            case "ssh_config" -> "Host *\n";
            case "identity" -> newKey();
            case "passphrase", "api-token", "mail-password", "webhook-secret", "tls.crt", "tls.key", "client-ca.crt" ->
                "secret\n";
            case "mail-addresses" -> "raz=raz@example.org\n";
            case "webhook-url" -> "https://hooks.example.org/genv\n";
            default -> throw new AssertionError(name);
        };
    }

    private static String newKey() throws JSchException {
        var bytes = new ByteArrayOutputStream();
        KeyPair.genKeyPair(new JSch(), KeyPair.ECDSA, 256).writePrivateKey(bytes);
        return bytes.toString(StandardCharsets.US_ASCII);
    }
}
