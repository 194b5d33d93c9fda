package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.marcnuri.helm.DryRun;
import com.marcnuri.helm.Helm;
import dev.genv.enforcer.testsupport.RenderedChart;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1DaemonSet;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1Ingress;
import io.kubernetes.client.openapi.models.V1NetworkPolicy;
import io.kubernetes.client.openapi.models.V1Pod;
import io.kubernetes.client.openapi.models.V1Service;
import io.kubernetes.client.openapi.models.V1ServiceAccount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Kubernetes knows every rendered object and every field of it; and Helm accepts the chart, its test and its notes. */
class ChartObjectsTest {
    @TempDir
    Path folder;

    private static final Map<String, Model> MODELS = Map.of(
            "ConfigMap", text -> V1ConfigMap.fromJson(text).toJson(),
            "DaemonSet", text -> V1DaemonSet.fromJson(text).toJson(),
            "Deployment", text -> V1Deployment.fromJson(text).toJson(),
            "Ingress", text -> V1Ingress.fromJson(text).toJson(),
            "NetworkPolicy", text -> V1NetworkPolicy.fromJson(text).toJson(),
            "Pod", text -> V1Pod.fromJson(text).toJson(),
            "Service", text -> V1Service.fromJson(text).toJson(),
            "ServiceAccount", text -> V1ServiceAccount.fromJson(text).toJson());

    /** The objects of the Prometheus Operator, with their valid fields. */
    private static final Map<String, Set<String>> OPERATOR_FIELDS = Map.of(
            "ServiceMonitor", Set.of("namespaceSelector", "selector", "endpoints"),
            "PodMonitor", Set.of("namespaceSelector", "selector", "podMetricsEndpoints"),
            "PrometheusRule", Set.of("groups"));

    private static final Set<String> CERTIFICATE_FIELDS =
            Set.of("secretName", "issuerRef", "dnsNames", "privateKey", "usages");

    private static final Set<String> ENDPOINT_FIELDS = Set.of(
            "port scheme tlsConfig path interval scrapeTimeout authorization relabelings metricRelabelings".split(" "));

    /** Parses an object as Kubernetes does, and writes it. */
    private interface Model {
        String read(String text) throws IOException;
    }

    /** The parser is lenient: it converts numbers to text and yes to false. So the written object must equal the original. */
    private static void check(String kind, JsonNode object) throws IOException {
        assertThat(MODELS).containsKey(kind);
        var again = RenderedChart.parse(MODELS.get(kind).read(object.toString()));
        assertThat(withoutEmptyValues(again)).isEqualTo(withoutEmptyValues(object));
    }

    /** A missing value is written as an empty one. */
    private static JsonNode withoutEmptyValues(JsonNode node) {
        JsonNode copy = node.deepCopy();
        if (copy instanceof ObjectNode object) {
            object.properties().forEach(field -> field.setValue(withoutEmptyValues(field.getValue())));
            object.properties()
                    .removeIf(field -> field.getValue().isContainerNode()
                            && field.getValue().isEmpty());
        } else if (copy instanceof ArrayNode array) {
            for (var i = 0; i < array.size(); i++) {
                array.set(i, withoutEmptyValues(array.get(i)));
            }
        }
        return copy;
    }

    @Test
    void objectsMatchTheKubernetesModels() throws IOException {
        for (var example : List.of("full", "remote", "existing")) {
            check(RenderedChart.ofExample(example));
        }
        check(RenderedChart.of(""));
        check(RenderedChart.of(ChartQueriesTest.ALERTS));
    }

    /** All rendered objects. */
    private static void check(RenderedChart chart) throws IOException {
        var seen = new HashSet<String>();
        for (var each : chart.documents()) {
            var kind = each.path("kind").asText();
            assertThat(seen.add(kind + "/" + each.at("/metadata/name").asText()))
                    .as("twice")
                    .isTrue();
            assertThat(each.at("/metadata/namespace").asText())
                    .isEqualTo(kind.equals("SecurityContextConstraints") ? "" : RenderedChart.NAMESPACE);
            assertThat(each.at("/metadata/labels/app.kubernetes.io~1instance").asText())
                    .isEqualTo(RenderedChart.NAME);
            if (OPERATOR_FIELDS.containsKey(kind)) {
                assertThat(each.path("apiVersion").asText()).isEqualTo("monitoring.coreos.com/v1");
                assertThat(names(each.path("spec"))).isSubsetOf(OPERATOR_FIELDS.get(kind));
            } else if (kind.equals("Certificate")) {
                assertThat(each.path("apiVersion").asText()).isEqualTo("cert-manager.io/v1");
                assertThat(names(each.path("spec"))).isEqualTo(CERTIFICATE_FIELDS);
            } else if (kind.equals("SecurityContextConstraints")) {
                assertThat(each.path("apiVersion").asText()).isEqualTo("security.openshift.io/v1");
            } else {
                check(kind, each);
            }
        }
    }

    @Test
    void serviceMonitorSelectsTheServiceAndSendsTheToken() {
        var chart = RenderedChart.ofExample("full");
        var monitor = chart.only("ServiceMonitor");
        var service = chart.only("Service");
        monitor.at("/spec/selector/matchLabels")
                .properties()
                .forEach(label -> assertThat(service.at("/metadata/labels").path(label.getKey()))
                        .isEqualTo(label.getValue()));
        var endpoint = monitor.at("/spec/endpoints/0");
        assertThat(names(endpoint)).isSubsetOf(ENDPOINT_FIELDS);
        assertThat(endpoint.path("port")).isEqualTo(service.at("/spec/ports/0/name"));
        assertThat(endpoint.at("/authorization/type").asText()).isEqualTo("Bearer");
        assertThat(endpoint.at("/authorization/credentials/name").asText()).isEqualTo("genv-enforcer-token");
        assertThat(endpoint.at("/authorization/credentials/key").asText()).isEqualTo("bearer");
    }

    @Test
    void podMonitorSelectsThePodsWithoutAService() throws IOException {
        var chart = RenderedChart.of("{serviceMonitor: {enabled: true, kind: PodMonitor}, service: {enabled: false}}");
        check(chart);
        var monitor = chart.only("PodMonitor");
        assertThat(monitor.at("/spec/selector")).isEqualTo(chart.workload().at("/spec/selector"));
        var endpoint = monitor.at("/spec/podMetricsEndpoints/0");
        assertThat(endpoint.path("port")).isEqualTo(chart.container().at("/ports/1/name"));
        // The alerts select this job.
        assertThat(endpoint.at("/relabelings/0"))
                .isEqualTo(RenderedChart.parse("{targetLabel: job, replacement: %s}"
                        .formatted(chart.workload().at("/metadata/name").asText())));
    }

    @Test
    void allObjectsAreInTheirNamespaceWithThoseOfTheValues() {
        var chart = RenderedChart.of("""
            namespaceOverride: gpus
            extraManifests:
              - {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-x", namespace: gpus}}
            """);
        assertThat(chart.documents())
                .allSatisfy(each ->
                        assertThat(each.at("/metadata/namespace").asText()).isEqualTo("gpus"))
                .anySatisfy(
                        each -> assertThat(each.at("/metadata/name").asText()).isEqualTo(RenderedChart.NAME + "-x"));
    }

    /** Otherwise OpenShift admits no pod. */
    @ParameterizedTest
    @CsvSource({"runtimeClass,false", "hostDriver,true"})
    void constraintsOfOpenShiftAllowWhatThePodNeeds(String access, boolean privileged) {
        var chart = RenderedChart.of("{openshift: {enabled: true}, gpuAccess: {mode: %s}}".formatted(access));
        var constraints = chart.only("SecurityContextConstraints");
        var context = chart.container().path("securityContext");
        assertThat(constraints.at("/users/0").asText())
                .isEqualTo("system:serviceaccount:%s:%s"
                        .formatted(
                                RenderedChart.NAMESPACE,
                                chart.pod().path("serviceAccountName").asText()));
        assertThat(constraints.path("allowPrivilegedContainer").asBoolean()).isEqualTo(privileged);
        assertThat(context.path("privileged").asBoolean()).isEqualTo(privileged);
        assertThat(constraints.path("allowHostPID")).isEqualTo(chart.pod().path("hostPID"));
        assertThat(constraints.path("readOnlyRootFilesystem")).isEqualTo(context.path("readOnlyRootFilesystem"));
        assertThat(constraints.path("allowedCapabilities").valueStream())
                .containsAll(context.at("/capabilities/add").valueStream().toList());
        assertThat(constraints.path("volumes").valueStream().map(JsonNode::asText))
                .containsAll(chart.pod()
                        .path("volumes")
                        .valueStream()
                        .flatMap(volume -> names(volume).stream())
                        .filter(name -> !name.equals("name"))
                        .toList());
    }

    /** The selectors use labels that never change, and select only pods of the release. */
    @ParameterizedTest
    @ValueSource(strings = {"full", "remote"})
    void selectorsMatchThePods(String name) {
        var chart = RenderedChart.ofExample(name);
        var labels = chart.workload().at("/spec/template/metadata/labels");
        for (var selector : List.of(
                chart.workload().at("/spec/selector/matchLabels"),
                chart.only("Service").at("/spec/selector"),
                chart.only("NetworkPolicy").at("/spec/podSelector/matchLabels"))) {
            assertThat(names(selector))
                    .containsExactlyInAnyOrder(
                            "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component");
            selector.properties()
                    .forEach(label -> assertThat(labels.path(label.getKey())).isEqualTo(label.getValue()));
        }
    }

    private static Set<String> names(JsonNode object) {
        var names = new HashSet<String>();
        object.fieldNames().forEachRemaining(names::add);
        return names;
    }

    @Test
    void lintReportsNothing() {
        var result = new Helm(RenderedChart.CHART).lint().strict().call();
        assertThat(result.isFailed()).as("%s", result.getMessages()).isFalse();
        assertThat(result.getMessages()).isEmpty();
    }

    @Test
    void notesTellHowToEnforce() throws IOException {
        assertThat(notes("{}"))
                .contains(
                        "AUDIT MODE",
                        "settings.mode=enforce",
                        "Its database is in /var/lib/genv-enforcer of each node",
                        "pod-security",
                        "apiToken",
                        "RuntimeClass nvidia")
                .doesNotContain("WARNING");
        assertThat(notes("settings: {mode: enforce}"))
                .contains("WARNING: it ENFORCES")
                .doesNotContain("AUDIT MODE");
    }

    /** The values of an earlier release may have left both to the chart. */
    @Test
    void notesOfAnUpgradeTellThatEnforcementMayHaveEnded() {
        assertThat(Path.of("helm/genv-enforcer/templates/NOTES.txt"))
                .content()
                .contains("{{- if .Release.IsUpgrade }}", "this upgrade has ENDED the enforcement");
    }

    @Test
    void ingressLeadsToTheServiceWhichKnowsItsHost() {
        var chart = RenderedChart.ofExample("remote");
        var ingress = chart.only("Ingress");
        var rule = ingress.at("/spec/rules/0");
        var backend = rule.at("/http/paths/0/backend/service");
        assertThat(rule.path("host").asText()).isEqualTo("gpus.example.org");
        assertThat(backend.path("name")).isEqualTo(chart.only("Service").at("/metadata/name"));
        assertThat(backend.at("/port/name")).isEqualTo(chart.only("Service").at("/spec/ports/0/name"));
        assertThat(ingress.at("/spec/tls/0"))
                .isEqualTo(RenderedChart.parse("{hosts: [gpus.example.org], secretName: gpus-tls}"));
        assertThat(ingress.at("/spec/ingressClassName").asText()).isEqualTo("nginx");
        assertThat(chart.environment().get("GENV_ENFORCER_HTTP_ALLOWED_HOSTS")).endsWith(",gpus.example.org");
    }

    private String notes(String values) throws IOException {
        var file = Files.writeString(folder.resolve("values.yaml"), values);
        return new Helm(RenderedChart.CHART)
                .install()
                .withName("genv-enforcer")
                .withNamespace(RenderedChart.NAMESPACE)
                .withKubeVersion("1.33.0")
                .clientOnly()
                .withDryRunOption(DryRun.CLIENT)
                .withValuesFile(file)
                .call()
                .getOutput();
    }
}
