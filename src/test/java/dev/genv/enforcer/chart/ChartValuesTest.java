package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.config.settings.SettingsReader;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The values of the examples have their effects. */
class ChartValuesTest {

    /** Variables that are not called like their values. */
    private static final Map<String, String> OTHER_NAMES = Map.of(
            "settings.terminateProcesses", "GENV_TERMINATE_PROCESSES",
            "settings.logJson", "QUARKUS_LOG_CONSOLE_JSON_ENABLED",
            "settings.httpHost", "QUARKUS_HTTP_HOST",
            "settings.httpPort", "QUARKUS_HTTP_PORT",
            "settings.managementPort", "QUARKUS_MANAGEMENT_PORT",
            "messages.terminal", "GENV_ENFORCER_TERMINAL_MESSAGES",
            "messages.inAudit", "GENV_ENFORCER_AUDIT_MESSAGES");

    /** The chart adds to the first, and writes the second to a file. */
    private static final Set<String> OTHER_TEXTS = Set.of("settings.httpAllowedHosts", "remote.hosts");

    /** YAML reads the modes on and off as booleans. */
    private static final Map<String, String> TEXTS_OF_BOOLEANS = Map.of(
            "settings.envDevices", "enforce",
            "settings.envMemory", "off",
            "settings.envOwner", "off",
            "settings.terminateProcesses", "0");

    @ParameterizedTest
    @CsvSource({"full, 45", "remote, 8"})
    void everySettingOfAnExampleIsAVariableOfTheContainer(String example, int fewest) throws IOException {
        var values = RenderedChart.parse(RenderedChart.example(example));
        var environment = RenderedChart.ofExample(example).environment();
        var expected = new TreeMap<String, String>();
        for (var value : ChartValues.read().all()) {
            var set = values.at(value.pointer());
            var variable = variable(value.path());
            if (!set.isMissingNode()
                    && !OTHER_TEXTS.contains(value.path())
                    && SettingsReader.variables().contains(variable)) {
                expected.put(variable, TEXTS_OF_BOOLEANS.getOrDefault(value.path(), text(set)));
            }
        }
        assertThat(environment).containsAllEntriesOf(expected);
        assertThat(expected).hasSizeGreaterThanOrEqualTo(fewest);
    }

    private static String variable(String path) {
        var name = path.replaceFirst("^(settings|messages)\\.", "").replaceAll("([A-Z])", "_$1");
        return OTHER_NAMES.getOrDefault(
                path, "GENV_ENFORCER_" + name.replace('.', '_').toUpperCase(Locale.ROOT));
    }

    private static String text(JsonNode value) {
        if (value.isObject()) {
            return value.properties().stream()
                    .map(entry -> entry.getKey() + "=" + entry.getValue().asText())
                    .sorted()
                    .collect(Collectors.joining(","));
        }
        return value.isArray()
                ? value.valueStream().map(JsonNode::asText).collect(Collectors.joining(","))
                : value.asText();
    }

    /** What the chart passes on as it is. */
    @ParameterizedTest
    @CsvSource({
        "nodeSelector, DaemonSet, /spec/template/spec/nodeSelector",
        "tolerations, DaemonSet, /spec/template/spec/tolerations",
        "imagePullSecrets, DaemonSet, /spec/template/spec/imagePullSecrets",
        "priorityClassName, DaemonSet, /spec/template/spec/priorityClassName",
        "terminationGracePeriodSeconds, DaemonSet, /spec/template/spec/terminationGracePeriodSeconds",
        "podAnnotations, DaemonSet, /spec/template/metadata/annotations",
        "updateStrategy, DaemonSet, /spec/updateStrategy",
        "resources, DaemonSet, /spec/template/spec/containers/0/resources",
        "image.pullPolicy, DaemonSet, /spec/template/spec/containers/0/imagePullPolicy",
        "data.hostPath, DaemonSet, /spec/template/spec/volumes/2/hostPath/path",
        "serviceAccount.name, ServiceAccount, /metadata/name",
        "serviceAccount.annotations, ServiceAccount, /metadata/annotations",
        "service.annotations, Service, /metadata/annotations",
        "service.port, Service, /spec/ports/0/port",
        "service.managementPort, Service, /spec/ports/1/port",
        "settings.httpPort, DaemonSet, /spec/template/spec/containers/0/ports/0/containerPort",
        "settings.managementPort, DaemonSet, /spec/template/spec/containers/0/ports/1/containerPort",
        "serviceMonitor.interval, ServiceMonitor, /spec/endpoints/0/interval",
        "serviceMonitor.scrapeTimeout, ServiceMonitor, /spec/endpoints/0/scrapeTimeout",
        "serviceMonitor.metricRelabelings, ServiceMonitor, /spec/endpoints/0/metricRelabelings",
        "networkPolicy.egress, NetworkPolicy, /spec/egress",
        "networkPolicy.ingressFrom.0, NetworkPolicy, /spec/ingress/0/from/1",
    })
    void aValueOfTheFullExampleIsInItsObject(String value, String kind, String pointer) {
        var set = RenderedChart.parse(RenderedChart.example("full")).at("/" + value.replace('.', '/'));
        assertThat(set.isMissingNode()).isFalse();
        assertThat(RenderedChart.ofExample("full").only(kind).at(pointer)).isEqualTo(set);
    }

    @ParameterizedTest
    @CsvSource({"liveness, live", "readiness, ready", "startup, started"})
    void eachProbeAsksForItsHealthAsOftenAsItsValuesSay(String probe, String path) {
        var values = RenderedChart.parse(RenderedChart.example("full")).at("/probes/" + probe);
        var expected = (ObjectNode) values.deepCopy();
        expected.putObject("httpGet").put("path", "/q/health/" + path).put("port", "management");
        assertThat(values).hasSize(3);
        assertThat(RenderedChart.ofExample("full").container().path(probe + "Probe"))
                .isEqualTo(expected);
    }

    /** Only the group of the service may read the files, and the kubelet updates them in a folder only. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "full|gpu-enforcer-policy/policy.yaml/policy.yaml, genv-enforcer-token/bearer/api-token, enforcer-tls/tls.crt/tls.crt, enforcer-tls/tls.key/tls.key, enforcer-clients/authorities.crt/client-ca.crt, mail-login/secret/mail-password,"
                        + " mail-addresses/people/mail-addresses, webhook/signing-key/webhook-secret",
                "remote|genv-enforcer-remote/hosts/hosts, genv-enforcer-ssh/ssh-privatekey/identity,"
                        + " genv-enforcer-ssh/passphrase/passphrase, genv-enforcer-remote/known_hosts/known_hosts,"
                        + " genv-enforcer-remote/ssh_config/ssh_config",
                "existing|webhook/address/webhook-url, machines/gpus/hosts, login/id_ed25519/identity,"
                        + " machines/keys/known_hosts, login/config/ssh_config",
            })
    void filesAreMountedReadOnlyFromTheirSources(String example, String files) {
        var chart = RenderedChart.ofExample(example);
        assertThat(chart.container().path("volumeMounts"))
                .contains(RenderedChart.parse("{name: files, mountPath: /etc/genv-enforcer, readOnly: true}"));
        var volume = chart.pod()
                .path("volumes")
                .valueStream()
                .filter(each -> each.path("name").asText().equals("files"))
                .findFirst()
                .orElseThrow()
                .path("projected");
        assertThat(volume.path("defaultMode").asInt()).isEqualTo(0440);
        assertThat(volume.path("sources").valueStream().map(ChartValuesTest::source))
                .containsExactly(files.split(", *", -1));
    }

    private static String source(JsonNode source) {
        var object = source.has("secret") ? source.path("secret") : source.path("configMap");
        return "%s/%s/%s"
                .formatted(
                        object.path("name").asText(),
                        object.at("/items/0/key").asText(),
                        object.at("/items/0/path").asText());
    }
}
