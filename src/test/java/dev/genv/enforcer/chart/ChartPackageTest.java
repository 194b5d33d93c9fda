package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.marcnuri.helm.DryRun;
import com.marcnuri.helm.Helm;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The chart as a package; most tests use a copy. */
class ChartPackageTest {
    @TempDir
    Path folder;

    private Path copy;

    @BeforeEach
    void copyTheChart() throws IOException {
        copy = folder.resolve("genv-enforcer");
        try (var files = Files.walk(RenderedChart.CHART)) {
            for (var file : files.toList()) {
                Files.copy(
                        file, copy.resolve(RenderedChart.CHART.relativize(file).toString()));
            }
        }
    }

    @Test
    void lintReportsNothing() {
        lint(RenderedChart.CHART);
    }

    /** Lint reads only the chart's own values, so these replace them. */
    @ParameterizedTest
    @ValueSource(strings = {"full", "remote", "existing"})
    void lintReportsNothingWithTheExampleValues(String name) throws IOException {
        var values = ChartValues.read().defaults().deepCopy();
        new ObjectMapper().readerForUpdating(values).readValue(RenderedChart.parse(RenderedChart.example(name)));
        // Helm removes these values.
        ((ObjectNode) values.at("/dashboard/labels"))
                .properties()
                .removeIf(label -> label.getValue().isNull());
        Files.writeString(copy.resolve("values.yaml"), values.toString());
        lint(copy);
    }

    private static void lint(Path chart) {
        var result = new Helm(chart).lint().strict().call();
        assertThat(result.isFailed()).as("%s", result.getMessages()).isFalse();
        assertThat(result.getMessages()).allMatch(message -> message.equals("[INFO] Chart.yaml: icon is recommended"));
    }

    @Test
    void packageContainsNoTestFiles() throws Exception {
        new Helm(RenderedChart.CHART).packageIt().withDestination(folder).call();
        var chart = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("Chart.yaml")));
        var archive = "genv-enforcer-%s.tgz".formatted(chart.path("version").asText());
        var listing = new ProcessBuilder("tar", "-tzf", archive)
                .directory(folder.toFile())
                .start();
        try (var lines = listing.inputReader()) {
            assertThat(lines.lines())
                    .contains(
                            "genv-enforcer/values.schema.json",
                            "genv-enforcer/README.md",
                            "genv-enforcer/dashboards/genv-enforcer.json",
                            "genv-enforcer/templates/NOTES.txt")
                    .noneMatch(file -> file.contains("/ci/"));
        }
        assertThat(listing.waitFor()).isZero();
    }

    /** Helm prints no hooks, so the pod is an ordinary one here. */
    private RenderedChart chartWithTestHook(String values) throws IOException {
        var file = copy.resolve("templates/tests/health.yaml");
        var hook = Files.readString(file);
        assertThat(hook).contains("    helm.sh/hook: test\n");
        Files.writeString(file, hook.replaceAll("(?m)^ +(annotations:|helm\\.sh/hook.*)\n", ""));
        return RenderedChart.ofCopy(copy, values);
    }

    /** Some platforms choose the uid. */
    @Test
    void testHookRunsAsTheUserOfThePlatform() throws IOException {
        var chart = chartWithTestHook("remote: {runAsUser: null}");
        assertThat(chart.only("Pod").at("/spec/securityContext").has("runAsUser"))
                .isFalse();
        ChartObjectsTest.check(chart);
    }

    /** Even if the schema is disabled. */
    @Test
    void refusesUnknownModeWithoutTheSchema() throws IOException {
        Files.delete(copy.resolve("values.schema.json"));
        for (var mode : new String[] {"null", "nodes"}) {
            assertThatThrownBy(() -> RenderedChart.ofCopy(copy, "mode: " + mode))
                    .hasMessageContaining(": set node or remote");
        }
    }

    @Test
    void testHookChecksTheHealthOfTheService() throws IOException {
        var chart = chartWithTestHook(RenderedChart.example("full"));
        assertThat(chart.only("Pod").at("/spec/securityContext/runAsUser").asInt())
                .isEqualTo(65_532);
        var pod = chart.only("Pod");
        assertThat(pod.at("/spec/containers/0/command").valueStream().map(each -> each.asText()))
                .containsExactly(
                        "/usr/local/bin/genv-enforcer-health",
                        chart.only("Service").at("/metadata/name").asText(),
                        "81",
                        "/q/health/live");
        assertThat(pod.at("/spec/containers/0/image"))
                .isEqualTo(chart.container().path("image"));
        assertThat(pod.at("/metadata/labels/app.kubernetes.io~1component").asText())
                .as("the Service must not find the test")
                .isEqualTo("test");
        assertThat(chart.only("NetworkPolicy")
                        .at("/spec/ingress/0/from/0/podSelector/matchLabels")
                        .properties())
                .allMatch(
                        label -> pod.at("/metadata/labels").path(label.getKey()).equals(label.getValue()));
        ChartObjectsTest.check(chart);
    }

    @Test
    void notesWarnThatProcessesAreTerminated() throws IOException {
        assertThat(notes("{}"))
                .contains(
                        "WARNING: it ENFORCES",
                        "settings.mode=audit",
                        "pod-security",
                        "apiToken",
                        "RuntimeClass nvidia");
        assertThat(notes("settings: {mode: audit}"))
                .doesNotContain("WARNING")
                .contains("AUDIT MODE", "settings.mode=enforce");
        assertThat(notes(RenderedChart.example("remote")))
                .contains("3 machine(s) over SSH")
                .doesNotContain("pod-security");
        assertThat(notes(RenderedChart.example("full"))).contains("Bearer", "8080:9090");
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
