package dev.genv.enforcer.container;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.RenderedChart;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The chart's pods with a real engine: their privileges suffice. */
@Tag("container")
@Timeout(600)
class ChartPodIT extends EngineTest {
    private static final String SETTINGS = """
            settings:
              interval: 1s
              nonEnvProcesses: enforce
              grace: 0s
            """;

    /** The folder of the database, which the pod's init container creates. */
    private Path dataFolder(int owner) throws IOException {
        var folder = directory.resolve("data");
        if (!Files.exists(folder)) {
            Files.createDirectory(folder);
        }
        Files.setAttribute(folder, "unix:mode", 0700);
        Files.setAttribute(folder, "unix:uid", owner);
        return folder;
    }

    /** {@code ShippedFlagsTest} shows that its privileges are those of the README, each of which {@code ContainerIT} requires. */
    @Test
    void nodePodTerminatesAndDetaches() throws IOException {
        var chart = RenderedChart.of(SETTINGS + "  maxDevicesPerUser: 1\n");
        var flags = PodFlags.of(chart, Map.of("state", stateDirectory, "data", dataFolder(0)))
                .add("-p", "127.0.0.1::8080", "-p", "127.0.0.1::9000");
        assertEnforces(flags, "node-of-the-cluster");
    }

    /** The folder contains the chart's files for the pod, which only its group can read. */
    @Test
    void remotePodNeedsNoPrivileges() throws IOException {
        RealHosts.assumePossible();
        try (var hosts = new RealHosts(directory.resolve("hosts"));
                var stray = Child.ofUser(OTHER_UID)) {
            var host = hosts.start("gpu-1");
            host.gpus().gpus(1).process(0, stray.pid(), "10");
            host.state().device(0).write();
            var port = freePort();
            var management = freePort();
            var chart = RenderedChart.of(SETTINGS + """
                      httpPort: %d
                      managementPort: %d
                    mode: remote
                    remote:
                      hosts: ["%s"]
                      username: %s
                      identity:
                        existingSecret: key
                      knownHosts:
                        existingConfigMap: known
                    """.formatted(port, management, host.target(), RealSshd.ADMIN));
            var group = chart.pod().at("/securityContext/fsGroup").asInt();
            var files = writeFiles(hosts, host, group);
            // The fake machine listens on loopback.
            var flags = PodFlags.of(chart, Map.of("files", files, "data", dataFolder(group)))
                    .add(
                            "--network=host",
                            "-e",
                            "QUARKUS_HTTP_HOST=127.0.0.1",
                            "-e",
                            "QUARKUS_MANAGEMENT_HOST=127.0.0.1");
            assertThat(PodFlags.privileges(flags))
                    .containsExactlyInAnyOrder(
                            "--cap-drop ALL",
                            "--security-opt no-new-privileges",
                            "--read-only",
                            "--user 65532:65532",
                            "--mount type=bind,source=%s,target=/etc/genv-enforcer,readonly".formatted(files),
                            "--network=host");
            try (var service = ServiceContainer.start(flags).withPorts(port, management)) {
                assertThat(stray.awaitExit()).isEqualTo(143);
                service.awaitReady(true);
                assertThat(service.json("/hosts").getList("status")).containsExactly("ok");
                service.stop();
                assertThat(service.inspect("{{.State.ExitCode}}")).isEqualTo("143");
            }
        }
    }

    private Path writeFiles(RealHosts hosts, RealSshd host, int group) throws IOException {
        var files = Files.createDirectory(directory.resolve("files"));
        Files.copy(hosts.identity(), files.resolve("identity"));
        Files.copy(hosts.knownHosts(), files.resolve("known_hosts"));
        Files.writeString(files.resolve("hosts"), host.target() + "\n");
        for (var name : new String[] {"identity", "known_hosts", "hosts"}) {
            Files.setAttribute(files.resolve(name), "unix:gid", group);
            Files.setAttribute(files.resolve(name), "unix:mode", 0440);
        }
        Files.setAttribute(files, "unix:mode", 0755);
        Files.setAttribute(directory, "unix:mode", 0755);
        return files;
    }

    private static int freePort() throws IOException {
        try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
