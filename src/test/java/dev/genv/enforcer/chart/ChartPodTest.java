package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The pods have exactly the privileges that they need. */
class ChartPodTest {
    private static final RenderedChart NODE = RenderedChart.of("");
    private static final RenderedChart REMOTE = RenderedChart.ofExample("remote");

    @Test
    void nodePodIsRootWithThreeCapabilities() {
        assertThat(NODE.pod().path("hostPID").asBoolean()).isTrue();
        assertThat(NODE.pod().path("runtimeClassName").asText()).isEqualTo("nvidia");
        assertThat(NODE.pod().path("priorityClassName").asText()).isEqualTo("system-node-critical");
        assertThat(NODE.pod().has("securityContext")).isFalse();
        assertSame(NODE.container().path("securityContext"), """
                allowPrivilegeEscalation: false
                readOnlyRootFilesystem: true
                runAsUser: 0
                capabilities: {drop: [ALL], add: [KILL, SYS_PTRACE, DAC_READ_SEARCH]}
                seccompProfile: {type: RuntimeDefault}
                appArmorProfile: {type: Unconfined}
                """);
    }

    /** The group tty, which may write to terminals that accept messages. */
    @Test
    void aPodThatWritesToTerminalsHasTheirGroup() {
        assertSame(RenderedChart.ofExample("full").pod().path("securityContext"), "supplementalGroups: [5]");
    }

    /** The field of AppArmor exists since Kubernetes 1.30. */
    @Test
    void olderKubernetesGetsTheAppArmorAnnotation() {
        var old = RenderedChart.forKubernetes("1.29.9", "");
        assertThat(old.container().at("/securityContext/appArmorProfile").isMissingNode())
                .isTrue();
        assertSame(
                old.workload().at("/spec/template/metadata/annotations"),
                "container.apparmor.security.beta.kubernetes.io/genv-enforcer: unconfined");
        assertThat(NODE.workload().at("/spec/template/metadata/annotations").isMissingNode())
                .isTrue();
        assertThat(RenderedChart.forKubernetes("1.31.2-gke.100", "").text()).isEqualTo(NODE.text());
    }

    @Test
    void remotePodHasNoPrivileges() {
        var pod = REMOTE.pod();
        assertThat(pod.has("hostPID") || pod.has("hostNetwork") || pod.has("runtimeClassName") || pod.has("affinity"))
                .isFalse();
        assertThat(pod.has("priorityClassName") || pod.has("tolerations")).isFalse();
        assertSame(pod.path("securityContext"), """
                runAsNonRoot: true
                runAsUser: 20001
                runAsGroup: 20001
                fsGroup: 20001
                seccompProfile: {type: RuntimeDefault}
                """);
        assertSame(REMOTE.container().path("securityContext"), """
                allowPrivilegeEscalation: false
                readOnlyRootFilesystem: true
                capabilities: {drop: [ALL]}
                """);
        assertThat(REMOTE.text()).doesNotContain("hostPath");
        assertSame(REMOTE.workload().at("/spec/strategy"), "type: Recreate");
        assertThat(REMOTE.workload().at("/spec/replicas").asInt()).isEqualTo(1);
    }

    @Test
    void podsHaveNoAccessToTheCluster() {
        for (var chart : new RenderedChart[] {NODE, REMOTE}) {
            assertThat(chart.pod().path("automountServiceAccountToken").asBoolean(true))
                    .isFalse();
            assertThat(chart.pod().path("enableServiceLinks").asBoolean(true)).isFalse();
            assertThat(chart.only("ServiceAccount")
                            .path("automountServiceAccountToken")
                            .asBoolean(true))
                    .isFalse();
            assertThat(chart.documents())
                    .noneMatch(each -> each.path("kind").asText().contains("Role"));
        }
    }

    @Test
    void aRemotePodMayReachOnlyItsMachinesAndDnsAndIsReachedOnItsPorts() {
        var policy = REMOTE.only("NetworkPolicy").path("spec");
        assertSame(policy.path("policyTypes"), "[Ingress, Egress]");
        assertSame(policy.at("/ingress/0/ports"), "[{port: http, protocol: TCP}, {port: management, protocol: TCP}]");
        assertSame(policy.path("egress"), """
                - ports:
                  - {port: 53, protocol: UDP}
                  - {port: 53, protocol: TCP}
                  - {port: 5353, protocol: UDP}
                  - {port: 5353, protocol: TCP}
                - ports: [{port: 22, protocol: TCP}, {port: 2222, protocol: TCP}]
                  to: [{ipBlock: {cidr: 10.0.0.0/8}}, {ipBlock: {cidr: "2001:db8::/32"}}]
                """);
    }

    /** Administrators need to reach the pod that is not ready, and a client of a stream stays with one pod. */
    @Test
    void theServiceKeepsAClientAtOnePodEvenIfItIsNotReady() {
        var service = NODE.only("Service").path("spec");
        assertThat(service.path("publishNotReadyAddresses").asBoolean()).isTrue();
        assertThat(service.path("sessionAffinity").asText()).isEqualTo("ClientIP");
        assertThat(service.path("type").asText()).isEqualTo("ClusterIP");
    }

    @Test
    void mountsTheStateDirectoryAtItsNodePath() {
        var chart = RenderedChart.ofExample("full");
        assertThat(chart.pod().at("/volumes/0/hostPath/path").asText()).isEqualTo("/srv/genv");
        assertThat(chart.container().at("/volumeMounts/0/mountPath").asText()).isEqualTo("/srv/genv");
        assertThat(chart.environment()).containsEntry("GENV_ENFORCER_STATE_DIR", "/srv/genv");
    }

    /** An emptyDir is open to all users, and the service refuses such a folder. */
    @Test
    void databaseHasAClosedFolderInAnEmptyDir() {
        for (var chart : new RenderedChart[] {NODE, RenderedChart.ofExample("existing")}) {
            assertSame(volume(chart), "{name: data, emptyDir: {sizeLimit: 640Mi}}");
            assertThat(mounts(chart.container()))
                    .contains("{\"name\":\"data\",\"mountPath\":\"/var/lib/genv-enforcer\",\"subPath\":\"database\"}");
            var init = chart.pod().at("/initContainers/0");
            assertThat(init.at("/command/2").asText()).endsWith("mkdir -m 0700 /data/database");
            assertThat(init.at("/securityContext/capabilities").toString()).isEqualTo("{\"drop\":[\"ALL\"]}");
            assertThat(init.at("/securityContext/runAsUser"))
                    .isEqualTo(chart.container().at("/securityContext/runAsUser"));
            assertThat(init.path("resources")).isEqualTo(chart.container().path("resources"));
            assertThat(chart.environment()).containsEntry("GENV_ENFORCER_DATA_DIR", "/var/lib/genv-enforcer");
        }
    }

    @ParameterizedTest
    @CsvSource({"1GiB, 2176Mi", "4194304, 136Mi", "1G, 2035Mi", "5mb, 137Mi"})
    void emptyDirHasRoomForADamagedDatabase(String maxSize, String limit) {
        assertThat(volume(RenderedChart.of("data: {maxSize: '%s'}".formatted(maxSize)))
                        .at("/emptyDir/sizeLimit")
                        .asText())
                .isEqualTo(limit);
    }

    @Test
    void volumesOfTheAdministratorNeedNoPreparation() {
        for (var chart : new RenderedChart[] {RenderedChart.ofExample("full"), REMOTE}) {
            assertThat(chart.pod().has("initContainers")).isFalse();
            assertThat(mounts(chart.container()))
                    .contains("{\"name\":\"data\",\"mountPath\":\"/var/lib/genv-enforcer\"}");
        }
        assertSame(
                volume(RenderedChart.ofExample("full")),
                "{name: data, hostPath: {path: /var/lib/enforcer-data, type: DirectoryOrCreate}}");
        assertSame(volume(REMOTE), "{name: data, persistentVolumeClaim: {claimName: genv-enforcer-data}}");
    }

    private static JsonNode volume(RenderedChart chart) {
        return chart.pod()
                .path("volumes")
                .valueStream()
                .filter(each -> each.path("name").asText().equals("data"))
                .findFirst()
                .orElseThrow();
    }

    private static Stream<String> mounts(JsonNode container) {
        return container.path("volumeMounts").valueStream().map(JsonNode::toString);
    }

    /** In audit mode the kubelet must not create the state directory, because only root could write to it. */
    @Test
    void onlyEnforceModeCreatesTheStateDirectory() {
        assertThat(hostPathType("mode: null")).isEqualTo("DirectoryOrCreate");
        assertThat(hostPathType("mode: enforce")).isEqualTo("DirectoryOrCreate");
        assertThat(hostPathType("mode: audit")).isEqualTo("Directory");
    }

    private static String hostPathType(String settings) {
        return RenderedChart.of("settings: {%s}".formatted(settings))
                .pod()
                .at("/volumes/0/hostPath/type")
                .asText();
    }

    /** Of any release in any namespace; a pod that enforces over SSH may run on the same node. */
    @Test
    void podAntiAffinityAllowsOneEnforcerPerNode() {
        var alone = """
                labelSelector: {matchLabels: {genv-enforcer/enforces: node}}
                namespaceSelector: {}
                topologyKey: kubernetes.io/hostname
                """;
        for (var values : new String[] {"", "affinity: {}", "affinity: {nodeAffinity: {}}", "nameOverride: other"}) {
            var chart = RenderedChart.of(values);
            var anti = chart.pod().at("/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution");
            assertThat(anti).hasSize(1);
            assertSame(anti.path(0), alone);
            assertThat(chart.workload()
                            .at("/spec/template/metadata/labels/genv-enforcer~1enforces")
                            .asText())
                    .isEqualTo("node");
        }
        var affinity = RenderedChart.of("""
                affinity:
                  podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}
                  podAntiAffinity:
                    requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]
                """).pod().path("affinity");
        assertThat(affinity.has("podAffinity")).isTrue();
        assertThat(affinity.has("nodeAffinity")).isFalse();
        var config = affinity.at("/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution");
        assertThat(config).hasSize(2);
        assertSame(config.path(0), "topologyKey: zone");
        assertSame(config.path(1), alone);
        assertThat(REMOTE.workload().at("/spec/template/metadata/labels").has("genv-enforcer/enforces"))
                .isFalse();
    }

    /** The same nodes as those of NVIDIA's device plugin. */
    @Test
    void nodeAffinitySelectsNodesWithAGpu() {
        assertSame(NODE.pod().at("/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution"), """
                nodeSelectorTerms:
                - matchExpressions: [{key: feature.node.kubernetes.io/pci-10de.present, operator: In, values: ["true"]}]
                - matchExpressions: [{key: feature.node.kubernetes.io/cpu-model.vendor_id, operator: In, values: [NVIDIA]}]
                - matchExpressions: [{key: nvidia.com/gpu.present, operator: In, values: ["true"]}]
                """);
        assertSame(NODE.pod().path("tolerations"), "[{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]");
        var anywhere = RenderedChart.of("{affinity: {}, tolerations: [], runtimeClassName: '', priorityClassName: ''}")
                .pod();
        assertThat(anywhere.path("affinity").has("nodeAffinity")).isFalse();
        assertThat(anywhere.has("tolerations") || anywhere.has("runtimeClassName"))
                .isFalse();
        assertThat(anywhere.has("priorityClassName")).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "'{}', :VERSION",
        "'{tag: 1.2.3}', :1.2.3",
        "'{digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}',"
                + " @sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    })
    void theImageIsThatOfTheVersionTheTagOrTheDigest(String image, String suffix) {
        var version = NODE.workload()
                .at("/metadata/labels/app.kubernetes.io~1version")
                .asText();
        var container = RenderedChart.of("image: " + image).container();
        assertThat(container.path("image").asText())
                .isEqualTo("ghcr.io/genv-enforcer/genv-enforcer" + suffix.replace("VERSION", version));
    }

    /** The service reads it only at the start; it reads the others again after a change. */
    @Test
    void restartsThePodOnlyWhenTheSshConfigurationChanges() {
        var values = RenderedChart.example("remote");
        assertThat(RenderedChart.of(values.replace("gpu-1", "gpu-3").replace("Host gpu-3", "Host gpu-1"))
                        .workload())
                .isEqualTo(REMOTE.workload());
        assertThat(RenderedChart.of(values.replace("jump.example", "leap.example"))
                        .workload())
                .isNotEqualTo(REMOTE.workload());
    }

    private static void assertSame(JsonNode actual, String yaml) {
        assertThat(actual).isEqualTo(RenderedChart.parse(yaml));
    }
}
