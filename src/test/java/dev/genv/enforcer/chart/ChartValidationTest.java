package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Values that would fail silently are refused with one sentence and its remedy. The schema refuses a misspelt value, one of another type, or null where a
 * value is required.
 */
class ChartValidationTest {
    private static final Set<String> WITHOUT_DEFAULT = Set.of(
            "resources.limits.cpu", "resources.limits.ephemeral-storage", "resources.requests.ephemeral-storage");

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        remote: {hosts: [gpu-1]}|remote.hosts names other machines than the nodes: set mode=remote
        remote: {hostfile: {existingConfigMap: x}}|remote.hosts names other machines than the nodes: set mode=remote
        data: {hostPath: /var/tmp/genv/data}|data.hostPath is /var/tmp/genv/data, which is in settings.stateDir
        settings: {stateDir: /var/lib/genv-enforcer}|data.hostPath is /var/lib/genv-enforcer, which is in settings.stateDir
        openshift: {enabled: true}, serviceAccount: {create: false}|openshift.enabled would allow its privileges to every pod
        settings: {maxDevicesPerUserMode: enforce}|settings.maxDevicesPerUserMode is enforce, but there is no limit
        data: {existingClaim: x}|data.existingClaim is set, but each node needs a database of its own
        mode: remote, remote: {hosts: [a]}, data: {hostPath: /srv/x}|data.hostPath is /srv/x, but with mode=remote
        serviceMonitor: {enabled: true}, networkPolicy: {enabled: true}|name them in networkPolicy.ingressFrom
        ingress: {enabled: true, host: a.example.org}|ingress.enabled is for mode=remote
        serviceMonitor: {enabled: true}, service: {enabled: false}|serviceMonitor.enabled needs a Service
        prometheusRule: {enabled: true}|prometheusRule.enabled needs the series of the ServiceMonitor
        prometheusRule: {enabled: true}, serviceMonitor: {enabled: true, interval: 121s}|serviceMonitor.interval is 121s, too long
        mode: remote|mode is remote, but no machines are named: set remote.hosts
        mode: remote, remote: {knownHosts: {content: a, existingSecret: b}}|remote.knownHosts has more than one source
        mode: remote, settings: {stateDir: /srv/genv}|settings.stateDir is /srv/genv, which is a directory of nodes
        mode: remote, service: {enabled: false}, ingress: {enabled: true, host: a}|ingress.enabled needs a Service
        mode: remote, ingress: {enabled: true}|don't meet the specifications of the schema
        settings: {mode: null}|missing property 'mode'
        settings: {interval: 0}|don't meet the specifications of the schema
        settings: {interval: '0s'}|don't meet the specifications of the schema
        extraEnv: [{name: GENV_ENFORCER_MODE, value: enforce}]|don't meet the specifications of the schema
        extraEnv: [{name: GENV_TMPDIR, value: /x}]|don't meet the specifications of the schema
        extraEnv: [{name: NVIDIA_VISIBLE_DEVICES, value: void}]|don't meet the specifications of the schema
        extraEnv: [{name: QUARKUS_HTTP_PORT, value: '1'}]|don't meet the specifications of the schema
        settings: {maxMemoryPerUser: 80x}|don't meet the specifications of the schema
        settings: {protectedExecutables: [bin/x]}|don't meet the specifications of the schema
        settings: {stateDir: genv}|don't meet the specifications of the schema
        settings: {httpAllowedHosts: ['http://x']}|don't meet the specifications of the schema
        image: {digest: 'sha256:abc'}|don't meet the specifications of the schema
        resources: {limits: {memory: 384}}|don't meet the specifications of the schema
        terminationGracePeriodSeconds: 5|don't meet the specifications of the schema
        prometheusRule: {disabled: [GenvEnforcerNothing]}|don't meet the specifications of the schema
        prometheusRule: {selector: '{job="x"}'}|don't meet the specifications of the schema
        nameOverride: '123'|don't meet the specifications of the schema
        settings: {stateDir: /./proc}|don't meet the specifications of the schema
        networkPolicy: {sshCidrs: [gpu-1]}|don't meet the specifications of the schema
        remote: {username: -oProxyCommand}|don't meet the specifications of the schema
        remote: {runAsUser: 0}|don't meet the specifications of the schema
        """)
    void refusesInvalidValues(String values, String sentence) {
        assertThat(RenderedChart.errorOf("{%s}".formatted(values))).contains(sentence);
    }

    /** All errors are reported at once. */
    @Test
    void reportsAllErrorsAtOnce() {
        assertThat(RenderedChart.errorOf("{mode: remote, settings: {stateDir: /x}, prometheusRule: {enabled: true}}"))
                .contains("\nmode is remote", "\nsettings.stateDir is /x", "\nprometheusRule.enabled");
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', textBlock = """
        settings: {interval: 24h, killAfter: never, grace: 0, lockTimeout: 1ms, maxDevicesPerUser: 0}
        settings: {nonEnvProcesses: false, envDevices: true, maxDevicesPerUser: 1, maxDevicesPerUserMode: true}
        affinity: {}, tolerations: [], runtimeClassName: '', priorityClassName: ''
        settings: {stateDir: /etc/genv, interval: 1d}, prometheusRule: {enabled: true, staleAfter: 48h}, serviceMonitor: {enabled: true}
        extraEnv: [{name: JAVA_OPTS, value: x}, {name: QUARKUS_LOG_LEVEL, value: DEBUG}]
        mode: remote, remote: {SSH, hosts: [r@gpu-1]}, ingress: {enabled: true, host: gpus.example.org}
        resources: {requests: {memory: 160Mi}, limits: {memory: 160Mi}}
        prometheusRule: {enabled: true, selector: 'job="x", cluster!~"a|b"'}
        serviceMonitor: {enabled: true, interval: 5m}, networkPolicy: {enabled: true, ingressFrom: [{podSelector: {}}]}
        service: {enabled: false}, serviceAccount: {create: false}, global: {x: y}
        mode: remote, remote: {hosts: [raz@gpu-1], SSH, sshConfig: {existingSecret: x}}, POLICY
        mode: remote, remote: {SSH, hostfile: {existingConfigMap: x}}, POLICY
        mode: remote, remote: {SSH, sshConfig: {existingSecret: x}, hosts: ['raz@gpu-1:2222'], username: null}, POLICY
        mode: remote, remote: {SSH, hosts: ['r@[fe80::1%eth0]:65535', 'dom\\user@gpu.example.com']}, POLICY
        """)
    void acceptsValidValues(String values) {
        var all = values.replace("SSH", "identity: {existingSecret: login}, knownHosts: {existingSecret: known}")
                .replace("POLICY", "networkPolicy: {enabled: true, sshPorts: [22, 65535]}");
        assertThatCode(() -> RenderedChart.of("{%s}".formatted(all))).doesNotThrowAnyException();
    }

    @Test
    void describesExactlyTheValuesOfTheChart() throws IOException {
        var values = ChartValues.read();
        var there = new TreeSet<>(values.sections());
        values.all().forEach(value -> there.add(value.path()));
        assertThat(described(values)).isEqualTo(there);
    }

    @Test
    void refusesUnknownNamesEverywhere() throws IOException {
        var sections = ChartValues.read().sections();
        var values = RenderedChart.parse("nonsense: 1");
        sections.forEach(section -> set(values, section + ".nonsense", IntNode.valueOf(1)));
        var refusal = RenderedChart.errorOf(values.toString());
        assertThat(refusal).contains("at '': additional properties 'nonsense' not allowed");
        for (var section : sections) {
            assertThat(refusal)
                    .contains("at '/%s': additional properties 'nonsense' not allowed"
                            .formatted(section.replace('.', '/')));
        }
    }

    @Test
    void refusesOtherTypesEverywhere() throws IOException {
        var all = ChartValues.read().all();
        var values = RenderedChart.parse("");
        all.forEach(value -> set(values, value.path(), RenderedChart.parse("[[]]")));
        var refusal = RenderedChart.errorOf(values.toString());
        for (var value : all) {
            assertThat(refusal).containsPattern("at '%s(/0)?':".formatted(value.pointer()));
        }
    }

    private static void set(JsonNode values, String path, JsonNode value) {
        var at = (ObjectNode) values;
        var names = path.split("\\.", -1);
        for (var i = 0; i < names.length - 1; i++) {
            at = at.withObjectProperty(names[i]);
        }
        at.set(names[names.length - 1], value);
    }

    private static Set<String> described(ChartValues values) throws IOException {
        var schema = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("values.schema.json")));
        var found = new TreeSet<String>();
        collect(schema, schema, "", values, found);
        found.remove("global"); // Helm adds it for a subchart
        found.removeAll(WITHOUT_DEFAULT);
        return found;
    }

    private static void collect(JsonNode schema, JsonNode at, String prefix, ChartValues values, Set<String> found) {
        var here = at.has("$ref") ? schema.at(at.path("$ref").asText().substring(1)) : at;
        var isValue = values.all().stream().anyMatch(value -> (value.path() + ".").equals(prefix));
        if (!isValue) {
            here.path("properties").properties().forEach(each -> {
                found.add(prefix + each.getKey());
                collect(schema, each.getValue(), prefix + each.getKey() + ".", values, found);
            });
        }
    }

    @Test
    void acceptsTheSameHostsAsTheService() {
        var accepted = "gpu-1.example.com,raz@_gpu:22,10.0.0.1:00022,a@b@c,dom\\user@[::1]:65535,[fe80::1%eth0.1],"
                + "[::ffff:10.0.0.1],[1:2:3:4:5:6:7:8]," + "a".repeat(255);
        var refused = ",@,$user+x@gpu,-u@gpu,r z@gpu,r/z@gpu,ü@gpu,-gpu,gpü,gpu"
                + " 1,gpu-1;gpu-2,gpu-1#,::1,[::1,[10.0.0.1],[abcd],"
                + "[2001:db8::1.2.3.4],[::1%],[g::1],gpu:,gpu:0,gpu:000022,gpu:65536,gpu:+22,gpu:22:22,gpu:２２,"
                + "a".repeat(256);
        var hosts = Stream.of((accepted + "," + refused).split(",", -1))
                .map(host -> host.replace(';', ','))
                .toList();
        var values = RenderedChart.parse("");
        ((ObjectNode) values).putObject("remote").putPOJO("hosts", hosts);
        var refusal = RenderedChart.errorOf(values.toString());
        assertThat(hosts.stream().filter(ChartValidationTest::serviceAccepts)).isEqualTo(hosts.subList(0, 9));
        for (var i = 0; i < hosts.size(); i++) {
            assertThat(!refusal.contains("at '/remote/hosts/%d'".formatted(i)))
                    .as(hosts.get(i))
                    .isEqualTo(serviceAccepts(hosts.get(i)));
        }
    }

    private static boolean serviceAccepts(String host) {
        try {
            HostAddress.parse(host);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
