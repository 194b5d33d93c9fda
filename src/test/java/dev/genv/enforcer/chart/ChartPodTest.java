package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The pods have exactly the privileges that they need. */
class ChartPodTest {
    @TempDir
    Path folder;

    private static final RenderedChart NODE = RenderedChart.of("");
    private static final RenderedChart REMOTE = RenderedChart.ofExample("remote");
    private static final String ENFORCES = "workload/spec/template/metadata/labels/genv-enforcer~1enforces";
    private static final Map<String, RenderedChart> CHARTS = new HashMap<>();

    /** A chart of an example or of values, a place in one of its objects, and what is there; nothing if it is missing. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        # On a node, root with three capabilities.
        {}|pod/hostPID|true
        {}|pod/runtimeClassName|nvidia
        {}|pod/priorityClassName|system-node-critical
        {}|pod/securityContext|
        {}|container/securityContext|{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsUser: 0, capabilities: {drop: [ALL], add: \
        [KILL, SYS_PTRACE, DAC_READ_SEARCH]}, seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: Unconfined}}
        # How the container gets the GPUs.
        gpuAccess: {mode: cdi}|workload/spec/template/metadata/annotations|nvidia.cdi.k8s.io/container.genv-enforcer: management.nvidia.com/gpu=all
        gpuAccess: {mode: cdi}|pod/runtimeClassName|
        gpuAccess: {mode: cdi}|container/env/1|{name: NVIDIA_VISIBLE_DEVICES, value: void}
        gpuAccess: {mode: volumeMounts}|pod/runtimeClassName|nvidia
        gpuAccess: {mode: volumeMounts}|container/env/1|{name: NVIDIA_VISIBLE_DEVICES, value: /var/run/nvidia-container-devices}
        gpuAccess: {mode: volumeMounts}|container/volumeMounts/1|{name: gpus, mountPath: /var/run/nvidia-container-devices/all}
        gpuAccess: {mode: volumeMounts}|pod/volumes/1|{name: gpus, hostPath: {path: /dev/null}}
        gpuAccess: {mode: hostDriver}|pod/runtimeClassName|
        gpuAccess: {mode: hostDriver}|container/env/1|{name: GENV_ENFORCER_NVIDIA_SMI, value: /usr/local/bin/nvidia-smi-of-host}
        gpuAccess: {mode: hostDriver, driverPath: /opt/driver}|pod/volumes/1|{name: driver, hostPath: {path: /opt/driver, type: Directory}}
        gpuAccess: {mode: hostDriver}|container/securityContext|{readOnlyRootFilesystem: true, privileged: true, runAsUser: 0}
        gpuAccess: {mode: privileged}|pod/runtimeClassName|nvidia
        gpuAccess: {mode: privileged}|container/securityContext|{readOnlyRootFilesystem: true, privileged: true, runAsUser: 0}
        # The group tty, which may write to terminals that accept messages.
        full|pod/securityContext|{supplementalGroups: [5], fsGroup: 5}
        full|container/securityContext|{readOnlyRootFilesystem: true, privileged: true, runAsUser: 0, runAsGroup: 5}
        securityContext: {readOnlyRootFilesystem: false}|container/securityContext/readOnlyRootFilesystem|false
        full|pod/hostNetwork|true
        full|pod/dnsPolicy|ClusterFirstWithHostNet
        # Over SSH, no privileges.
        remote|pod/hostPID|
        remote|pod/hostNetwork|
        remote|pod/runtimeClassName|
        remote|pod/securityContext|{runAsNonRoot: true, runAsUser: 20001, runAsGroup: 20001, fsGroup: 20001, seccompProfile: {type: RuntimeDefault}}
        remote|container/securityContext|{allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        remote|workload/spec/strategy|type: Recreate
        # It reaches only its machines and DNS, and is reached on its ports.
        remote|NetworkPolicy/spec/policyTypes|[Ingress, Egress]
        remote|NetworkPolicy/spec/ingress/0/ports|[{port: http, protocol: TCP}, {port: management, protocol: TCP}]
        remote|NetworkPolicy/spec/egress|[{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}, {port: 5353, protocol: UDP}, {port: 5353, \
        protocol: TCP}]}, {ports: [{port: 22, protocol: TCP}, {port: 2222, protocol: TCP}], to: [{ipBlock: {cidr: 10.0.0.0/8}}, {ipBlock: {cidr: \
        "2001:db8::/32"}}]}]
        # Administrators need to reach the pod that is not ready, and a client of a stream stays with one pod.
        {}|Service/spec/publishNotReadyAddresses|true
        {}|Service/spec/sessionAffinity|ClientIP
        # The state directory has the same path on the node.
        full|pod/volumes/0/hostPath/path|/srv/genv
        full|container/volumeMounts/0/mountPath|/srv/genv
        # In audit mode the kubelet must not create it, because only root could write to it.
        settings: {mode: enforce}|pod/volumes/0/hostPath/type|DirectoryOrCreate
        settings: {mode: audit}|pod/volumes/0/hostPath/type|Directory
        # The emptyDir has room for a damaged database too.
        data: {hostPath: null}|data|{name: data, emptyDir: {sizeLimit: 640Mi}}
        data: {hostPath: null, maxSize: '1GiB'}|data/emptyDir/sizeLimit|2176Mi
        data: {hostPath: null, maxSize: '1G'}|data/emptyDir/sizeLimit|2035Mi
        # On a node the database outlives the pod.
        {}|data|{name: data, hostPath: {path: /var/lib/genv-enforcer, type: DirectoryOrCreate}}
        full|data|{name: data, hostPath: {path: /var/lib/enforcer-data, type: DirectoryOrCreate}}
        # A claim of the administrator needs no preparation.
        remote|data|{name: data, persistentVolumeClaim: {claimName: genv-enforcer-data}}
        remote|pod/initContainers|
        # With TLS, Prometheus reads the metrics on the port of the API; the probes stay on the other one.
        full|Certificate/spec/dnsNames|[localhost, gpu-enforcer, gpu-enforcer.gpu, gpu-enforcer.gpu.svc, gpu-enforcer.gpu.svc.cluster.local, \
        enforcer.example.org]
        full|Certificate/spec/issuerRef|{group: cert-manager.io, kind: ClusterIssuer, name: cluster-ca}
        full|Certificate/spec/secretName|enforcer-tls
        full|container/readinessProbe/httpGet|{path: /q/health/ready, port: management}
        full|ServiceMonitor/spec/endpoints/0/scheme|https
        full|ServiceMonitor/spec/endpoints/0/tlsConfig|{serverName: gpu-enforcer.gpu.svc, ca: {secret: {name: enforcer-tls, key: ca.crt}}, cert: \
        {secret: {name: prometheus-client, key: tls.crt}}, keySecret: {name: prometheus-client, key: tls.key}}
        {serviceMonitor: {enabled: true, tlsConfig: {serverName: x}}, tls: {secretName: a}}|ServiceMonitor/spec/endpoints/0/tlsConfig|{serverName: x}
        serviceMonitor: {enabled: true}|ServiceMonitor/spec/endpoints/0/port|management
        serviceMonitor: {enabled: true}|ServiceMonitor/spec/endpoints/0/scheme|
        tls: {certManager: {issuer: ca}}|Certificate/spec/secretName|genv-enforcer-tls
        # The same nodes as those of NVIDIA's device plugin.
        {}|pod/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution|{nodeSelectorTerms: [{matchExpressions: [{key: \
        feature.node.kubernetes.io/pci-10de.present, operator: In, values: ["true"]}]}, {matchExpressions: [{key: \
        feature.node.kubernetes.io/cpu-model.vendor_id, operator: In, values: [NVIDIA]}]}, {matchExpressions: [{key: \
        cloud.google.com/gke-accelerator, operator: Exists}]}, {matchExpressions: [{key: nvidia.com/gpu.present, operator: In, values: ["true"]}]}]}
        {}|pod/tolerations|[{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
        affinity: {}|pod/affinity/nodeAffinity|
        affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: \
        []}}|pod/affinity/podAffinity|{preferredDuringSchedulingIgnoredDuringExecution: []}
        remote|workload/spec/template/metadata/labels/genv-enforcer~1enforces|
        runtimeClassName: ''|pod/runtimeClassName|
        image: {tag: 1.2.3}|container/image|ghcr.io/genv-enforcer/genv-enforcer:1.2.3
        image: {digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef}|container/image|ghcr.io/genv-enforcer/genv-enforcer@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
        """)
    void aPlaceOfTheChartHasItsContent(String values, String place, @Nullable String content) {
        var actual = at(CHARTS.computeIfAbsent(values, ChartPodTest::chart), place);
        if (content == null) {
            assertThat(actual.isMissingNode()).isTrue();
        } else {
            assertSame(actual, content);
        }
    }

    private static RenderedChart chart(String values) {
        return Set.of("full", "remote").contains(values) ? RenderedChart.ofExample(values) : RenderedChart.of(values);
    }

    private static JsonNode at(RenderedChart chart, String place) {
        var slash = place.contains("/") ? place.indexOf('/') : place.length();
        var object = switch (place.substring(0, slash)) {
            case "pod" -> chart.pod();
            case "container" -> chart.container();
            case "workload" -> chart.workload();
            case "data" -> volume(chart);
            default -> chart.only(place.substring(0, slash));
        };
        return object.at(place.substring(slash));
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
    void podsHaveNoAccessToTheClusterAndOverSshNoneToTheNode() {
        var fields = "serviceAccountName automountServiceAccountToken enableServiceLinks terminationGracePeriodSeconds"
                + " containers volumes ";
        assertThat(REMOTE.text()).doesNotContain("hostPath");
        assertFields(REMOTE.pod(), fields + "securityContext");
        assertFields(
                NODE.pod(), fields + "hostPID runtimeClassName priorityClassName initContainers affinity tolerations");
        assertThat(NODE.pod().path("initContainers")).hasSize(1);
        for (var chart : List.of(NODE, REMOTE)) {
            assertThat(chart.pod().path("containers")).hasSize(1);
            assertFields(
                    chart.container(),
                    "name image imagePullPolicy securityContext env ports startupProbe livenessProbe readinessProbe"
                            + " resources volumeMounts");
            for (var place : List.of(
                    "pod/automountServiceAccountToken",
                    "pod/enableServiceLinks",
                    "ServiceAccount/automountServiceAccountToken")) {
                assertThat(at(chart, place).asBoolean(true)).as(place).isFalse();
            }
            assertThat(chart.documents())
                    .noneMatch(each -> each.path("kind").asText().contains("Role"));
        }
    }

    private static void assertFields(JsonNode object, String names) {
        assertThat(object.fieldNames()).toIterable().containsExactlyInAnyOrder(names.split(" ", -1));
    }

    /** An emptyDir is open to all users, and the service refuses such a folder. */
    @Test
    void databaseHasAClosedFolderInAnEmptyDir() {
        for (var chart :
                new RenderedChart[] {RenderedChart.of("data: {hostPath: null}"), RenderedChart.ofExample("existing")}) {
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

    /** Kubernetes lets all users read a folder that it creates. The administrator chooses the mode of another one. */
    @ParameterizedTest
    @CsvSource({"'',rwx------", "enforcer.db,rwxr-xr-x"})
    void databaseHasAClosedFolderOnTheNode(String content, String mode) throws Exception {
        var init = NODE.pod().at("/initContainers/0");
        assertThat(init.path("volumeMounts")).isEqualTo(RenderedChart.parse("[{name: data, mountPath: /data}]"));
        assertThat(mounts(NODE.container())).contains("{\"name\":\"data\",\"mountPath\":\"/var/lib/genv-enforcer\"}");
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        if (!content.isEmpty()) {
            Files.createFile(folder.resolve(content));
        }
        var command = init.at("/command/2").asText().replace("/data", folder.toString());
        assertThat(new ProcessBuilder("sh", "-c", command).start().waitFor()).isZero();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)))
                .isEqualTo(mode);
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

    /** Of any release in any namespace; a pod that enforces over SSH may run on the same node. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{}|[ALONE]",
                "affinity: {nodeAffinity: {}}|[ALONE]",
                "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}"
                        + "|[{topologyKey: zone}, ALONE]",
            })
    void podAntiAffinityAllowsOneEnforcerPerNode(String values, String rules) {
        var alone = "{labelSelector: {matchLabels: {genv-enforcer/enforces: node}}, namespaceSelector: {},"
                + " topologyKey: kubernetes.io/hostname}";
        var chart = RenderedChart.of(values);
        var anti = "pod/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
        assertSame(at(chart, anti), rules.replace("ALONE", alone));
        assertSame(at(chart, ENFORCES), "node");
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
