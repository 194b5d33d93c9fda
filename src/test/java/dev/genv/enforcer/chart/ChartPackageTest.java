package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.marcnuri.helm.DryRun;
import com.marcnuri.helm.Helm;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The chart as an administrator gets it: lint, the test of an installation, and the notes. */
class ChartPackageTest {
    @TempDir
    Path folder;

    @Test
    void lintReportsNothing() {
        var result = new Helm(RenderedChart.CHART).lint().strict().call();
        assertThat(result.isFailed()).as("%s", result.getMessages()).isFalse();
        assertThat(result.getMessages()).allMatch(message -> message.equals("[INFO] Chart.yaml: icon is recommended"));
    }

    /** Helm prints no hooks, so the pod is an ordinary one here. */
    private RenderedChart chartWithTestHook(String values) throws IOException {
        var copy = folder.resolve("genv-enforcer");
        try (var files = Files.walk(RenderedChart.CHART)) {
            for (var file : files.toList()) {
                Files.copy(
                        file, copy.resolve(RenderedChart.CHART.relativize(file).toString()));
            }
        }
        var health = copy.resolve("templates/tests/health.yaml");
        var hook = Files.readString(health);
        assertThat(hook).contains("    helm.sh/hook: test\n");
        Files.writeString(health, hook.replaceAll("(?m)^ +(annotations:|helm\\.sh/hook.*)\n", ""));
        return RenderedChart.ofCopy(copy, values);
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
