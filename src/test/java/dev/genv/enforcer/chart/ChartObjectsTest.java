package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import dev.genv.enforcer.testsupport.RenderedChart;
import io.kubernetes.client.openapi.models.V1ConfigMap;
import io.kubernetes.client.openapi.models.V1DaemonSet;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1NetworkPolicy;
import io.kubernetes.client.openapi.models.V1Pod;
import io.kubernetes.client.openapi.models.V1Service;
import io.kubernetes.client.openapi.models.V1ServiceAccount;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is made is what Kubernetes knows, and nothing is spelt as it does not know it. */
class ChartObjectsTest {
    private static final Map<String, Model> MODELS = Map.of(
            "ConfigMap", V1ConfigMap::validateJsonElement,
            "DaemonSet", V1DaemonSet::validateJsonElement,
            "Deployment", V1Deployment::validateJsonElement,
            "NetworkPolicy", V1NetworkPolicy::validateJsonElement,
            "Pod", V1Pod::validateJsonElement,
            "Service", V1Service::validateJsonElement,
            "ServiceAccount", V1ServiceAccount::validateJsonElement);

    /** The Prometheus Operator's, with what may stand in them. */
    private static final Map<String, Set<String>> OF_THE_OPERATOR = Map.of(
            "ServiceMonitor", Set.of("namespaceSelector", "selector", "endpoints"), "PrometheusRule", Set.of("groups"));

    private static final Set<String> OF_AN_ENDPOINT =
            Set.of("port", "path", "interval", "scrapeTimeout", "authorization", "relabelings", "metricRelabelings");
    private static final Set<String> OF_A_RULE = Set.of("alert", "expr", "for", "labels", "annotations");

    private interface Model {
        void check(JsonElement element) throws IOException;
    }

    @Test
    void theModelsRefuseWhatIsMisspelt() {
        assertThatThrownBy(() -> MODELS.get("Pod").check(JsonParser.parseString("{\"spec\":{\"hostPid\":true}}")))
                .isInstanceOf(RuntimeException.class)
                .hasMessageContaining("hostPid");
    }

    @ParameterizedTest
    @ValueSource(strings = {"full", "remote", "existing"})
    void theExamplesAreWhatKubernetesKnows(String name) throws IOException {
        check(RenderedChart.ofExample(name));
    }

    @Test
    void theDefaultsAreWhatKubernetesKnows() throws IOException {
        check(RenderedChart.of(""));
        check(RenderedChart.of("prometheusRule: {enabled: true}"));
    }

    /** All that is made. */
    static void check(RenderedChart chart) throws IOException {
        var seen = new HashSet<String>();
        for (var each : chart.documents()) {
            var kind = each.path("kind").asText();
            assertThat(seen.add(kind + "/" + each.at("/metadata/name").asText()))
                    .as("twice")
                    .isTrue();
            assertThat(each.at("/metadata/namespace").asText()).isEqualTo(RenderedChart.NAMESPACE);
            assertThat(each.at("/metadata/labels/app.kubernetes.io~1instance").asText())
                    .isEqualTo(RenderedChart.NAME);
            if (OF_THE_OPERATOR.containsKey(kind)) {
                assertThat(each.path("apiVersion").asText()).isEqualTo("monitoring.coreos.com/v1");
                assertThat(names(each.path("spec"))).isSubsetOf(OF_THE_OPERATOR.get(kind));
            } else {
                assertThat(MODELS).containsKey(kind);
                MODELS.get(kind).check(JsonParser.parseString(each.toString()));
            }
        }
    }

    @Test
    void theServiceMonitorFindsTheServiceAndShowsTheToken() {
        var chart = RenderedChart.ofExample("full");
        var monitor = chart.only("ServiceMonitor");
        var service = chart.only("Service");
        monitor.at("/spec/selector/matchLabels")
                .properties()
                .forEach(label -> assertThat(service.at("/metadata/labels").path(label.getKey()))
                        .isEqualTo(label.getValue()));
        var endpoint = monitor.at("/spec/endpoints/0");
        assertThat(names(endpoint)).isSubsetOf(OF_AN_ENDPOINT);
        assertThat(endpoint.path("port")).isEqualTo(service.at("/spec/ports/0/name"));
        assertThat(endpoint.at("/authorization/type").asText()).isEqualTo("Bearer");
        assertThat(endpoint.at("/authorization/credentials/name").asText()).isEqualTo("genv-enforcer-token");
        assertThat(endpoint.at("/authorization/credentials/key").asText()).isEqualTo("bearer");
    }

    @Test
    void everyAlertSaysHowBadItIsAndWhatToDo() {
        for (var example : List.of("full", "remote")) {
            for (var rule :
                    RenderedChart.ofExample(example).only("PrometheusRule").at("/spec/groups/0/rules")) {
                var name = rule.path("alert").asText();
                assertThat(names(rule)).as(name).isSubsetOf(OF_A_RULE);
                assertThat(rule.at("/labels/severity").asText()).as(name).isIn("warning", "critical");
                assertThat(rule.at("/annotations/summary").asText()).as(name).isNotBlank();
                assertThat(rule.at("/annotations/description").asText())
                        .as(name)
                        .hasSizeGreaterThan(40);
            }
        }
    }

    /** The pods are found by what never changes, and only ours. */
    @ParameterizedTest
    @ValueSource(strings = {"full", "remote"})
    void theSelectorsFindThePods(String name) {
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
}
