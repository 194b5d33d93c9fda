package dev.genv.enforcer.container;

import static dev.genv.enforcer.container.ServiceContainer.DOCKER;
import static dev.genv.enforcer.container.ServiceContainer.PODMAN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.container.Flags.PodFlags;
import dev.genv.enforcer.testsupport.RenderedChart;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.TestCertificate;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import dev.genv.enforcer.testsupport.state.StateFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The image with all flags of the README, and once without each; and the pods of the chart. They need a container engine. */
@Tag("container")
@Timeout(600)
class ContainerIT {
    /** Starts a container. */
    private interface Engine {
        ServiceContainer start(Flags flags) throws IOException;
    }

    private static final String CHART_SETTINGS = """
        settings:
          mode: enforce
          interval: 1s
          nonEnvProcesses: enforce
          grace: 0s
        """;

    private static final String NODE = "node-of-the-cluster";
    private static final long OWNER_UID = 2001;
    private static final long OTHER_UID = 2002;

    @TempDir
    Path directory;

    private Path stateDirectory;
    private StateFiles state;
    private FakeNvidiaSmi gpus;

    @BeforeEach
    void prepareMachine() throws IOException {
        assertThat(CurrentProcess.isRoot()).as("an engine's state is root's").isTrue();
        stateDirectory = Files.createDirectory(directory.resolve("genv"));
        Files.setPosixFilePermissions(stateDirectory, PosixFilePermissions.fromString("rwxrwxrwx"));
        state = new StateFiles(stateDirectory);
        gpus = new FakeNvidiaSmi(ServiceContainer.DRIVER).gpus(3).noFault().noProcesses();
        ServiceContainer.setRuntimeIgnoresVariables(false);
        writeHostDriver();
    }

    /** A driver as it lies on a host: its programs find its libraries only with the path of the linker. */
    private static void writeHostDriver() throws IOException {
        var programs = Files.createDirectories(ServiceContainer.DRIVER.resolve("bin"));
        var program = Files.writeString(programs.resolve("nvidia-smi"), """
            #!/bin/sh
            case $LD_LIBRARY_PATH in /usr/local/nvidia/lib64:*) exec /usr/local/nvidia/nvidia-smi "$@" ;; esac
            echo "libnvidia-ml.so.1: cannot open shared object file"
            exit 127
            """);
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Flags flags() throws IOException {
        return Flags.ofReadme(stateDirectory)
                .set("INTERVAL", "1s")
                .set("NON_ENV_PROCESSES", "enforce")
                .set("GRACE", "0s");
    }

    @Test
    void terminatesAndDetachesOnTheNode() throws IOException {
        assertEnforces(ServiceContainer::start, flags().set("MAX_DEVICES_PER_USER", 1), null);
    }

    /** As in the page about the installation, without NVIDIA's toolkit. */
    @Test
    void terminatesAndDetachesWithTheDriverOfTheHost() throws IOException {
        var flags = flags().without("--gpus", "all")
                .add("-v", ServiceContainer.DRIVER + ":/usr/local/nvidia:ro")
                .set("NVIDIA_SMI", "/usr/local/bin/nvidia-smi-of-host")
                .set("MAX_DEVICES_PER_USER", 1);
        assertEnforces(ServiceContainer::start, flags, null);
    }

    /** As in the page about the installation, with CDI in place of {@code --gpus all}. */
    @Test
    void podmanTerminatesAndDetachesOnTheNode() throws IOException {
        var flags = flagsOfCdi("nvidia.com/gpu=all").set("MAX_DEVICES_PER_USER", 1);
        assertEnforces(ContainerIT::startByPodman, flags, null);
    }

    @Test
    void podmanRefusesADeviceWithoutSpecification() throws IOException {
        assertThat(ServiceContainer.runOnce(PODMAN, flagsOfCdi("nvidia.com/gpu=missing"))
                        .text())
                .contains("unresolvable CDI devices nvidia.com/gpu=missing");
    }

    private Flags flagsOfCdi(String device) throws IOException {
        return flags().replace("--gpus", "--device").replace("all", device);
    }

    private static ServiceContainer startByPodman(Flags flags) throws IOException {
        return ServiceContainer.startOnLoopback(PODMAN, flags);
    }

    @ParameterizedTest
    @ValueSource(strings = {"KILL", "SYS_PTRACE", "DAC_READ_SEARCH"})
    void reportsMissingCapabilityAndTerminatesNothing(String capability) throws IOException {
        try (var stray = Child.ofUser(OTHER_UID);
                var member = Child.ofUser(OWNER_UID, Map.of("GENV_ENVIRONMENT_ID", "a"))) {
            state.env("a", OWNER_UID, null, null, member.pid())
                    .device(0, "a")
                    .device(1)
                    .device(2)
                    .write();
            gpus.process(0, member.pid(), "10").process(2, stray.pid(), "10");
            try (var service = ServiceContainer.start(flags().without("--cap-add", capability))) {
                service.awaitReady(false);
                service.awaitCycles(2);
                assertThat(service.ofHost("missing_privileges")).containsExactly(capability);
                assertThat(service.log()).contains("run as root with --cap-add " + capability);
                assertThat(stray.isAlive()).isTrue();
                assertThat(member.isAlive()).isTrue();
                // Its information about the stray process depends on its privileges.
                assertThat(service.json("/violations").getList("rule")).hasSize(capability.equals("KILL") ? 1 : 0);
            }
        }
    }

    /** The pids that the driver reports are those of other processes in the container. */
    @Test
    void isReadOnlyWithoutHostPid() throws IOException {
        state.device(0).device(1).device(2).write();
        try (var service = ServiceContainer.start(flags().without("--pid=host"))) {
            service.awaitReady(false);
            gpus.process(FakeNvidiaSmi.uuid(2), service.startProcessInside(OTHER_UID), "10");
            service.awaitCycles(2);
            assertThat(service.ofHost("missing_privileges")).containsExactly("HOST_PID");
            assertThat(service.json("/q/health/ready").getString("checks[0].data.reason"))
                    .isNotEmpty();
            assertThat(service.log()).contains("run with --pid=host");
            assertThat(service.json("/violations").getList("$")).isEmpty();
            assertThat(service.status("/q/health/live")).isEqualTo(200);
            assertThat(service.processesInside()).isNotEmpty();
        }
    }

    /** The engine creates a missing folder for root only; then genv would fail for every user. */
    @Test
    void makesStateDirectoryOfTheEngineWorldWritable() throws IOException {
        Files.delete(stateDirectory);
        var atItsOwnPath = flags().without("--mount", Flags.mount(stateDirectory))
                .add("-v", stateDirectory + ":" + stateDirectory)
                .set("STATE_DIR", stateDirectory);
        try (var service = ServiceContainer.start(atItsOwnPath)) {
            service.awaitReady(true);
            assertThat(permissions(stateDirectory)).isEqualTo("rwxrwxrwx");
        }
    }

    /** A service in audit mode must not create a folder in which genv fails for every user. */
    @Test
    void flagsOfTheReadmeCreateNoStateDirectory() throws IOException {
        Files.delete(stateDirectory);
        assertThat(ServiceContainer.runOnce(DOCKER, flags().set("INTERVAL", 0)).text())
                .contains("does not exist");
        assertThat(stateDirectory).doesNotExist();
    }

    private static String permissions(Path folder) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(folder));
    }

    @Test
    void keepsTheDatabaseInItsVolumeAndUnpacksNoLibrary() throws IOException {
        try (var service = ServiceContainer.start(flags())) {
            service.awaitReady(true);
            assertThat(service.execute("stat", "-c", "%a %u", "/var/lib/genv-enforcer/enforcer.db")
                            .output())
                    .isEqualTo("600 0");
            assertThat(Files.readString(Path.of("/proc", Long.toString(service.pid()), "maps")))
                    .contains("/opt/genv-enforcer/native/libsqlitejdbc.so");
            assertThat(service.execute("ls", "/dev/shm").output()).doesNotContain("sqlite");
            assertThat(service.ofHost("problems.code")).isEmpty();
        }
    }

    /** The client has nothing in common with the service. */
    @Test
    void servesTheApiWithTls() throws Exception {
        Requirements.program("/usr/bin/curl", "curl");
        var certificate = TestCertificate.of("localhost", directory);
        var folder = Files.createDirectory(directory.resolve("tls"));
        var chain = Files.writeString(folder.resolve("tls.crt"), certificate.pem());
        Files.writeString(folder.resolve("tls.key"), certificate.keyPem());
        var flags = flags().add("-v", folder + ":/tls:ro")
                .set("TLS_CERTIFICATE_FILE", "/tls/tls.crt")
                .set("TLS_KEY_FILE", "/tls/tls.key");
        try (var service = ServiceContainer.start(flags)) {
            service.awaitReady(true);
            var address = "https://localhost:%d/hosts".formatted(service.port("/hosts"));
            assertThat(Programs.run("/usr/bin/curl", "-sS", "--cacert", chain.toString(), address))
                    .contains("\"status\":\"ok\"");
        }
    }

    @Test
    void healthCheckNeedsNoOtherProgram() throws IOException {
        try (var service = ServiceContainer.start(flags())) {
            service.awaitReady(true);
            assertThat(service.inspect("{{json .Config.Healthcheck.Test}}"))
                    .isEqualTo("[\"CMD\",\"genv-enforcer-health\"]");
            assertThat(service.execute("genv-enforcer-health").exitCode()).isZero();
            assertThat(service.execute("genv-enforcer-health", "127.0.0.1", "9001")
                            .exitCode())
                    .isEqualTo(1);
        }
    }

    /** With AOTMode=on, a cache that does not match aborts the start. */
    @ParameterizedTest
    @CsvSource({
        "JAVA_TOOL_OPTIONS=-XX:AOTMode=on,''",
        "JAVA_OPTS=-Xmx300m -XX:+PrintCommandLineFlags,-XX:MaxHeapSize=314572800",
    })
    void usesTheAotCacheOfTheImageAndTheJvmOptions(String variable, String shown) throws IOException {
        var cycle = ServiceContainer.runOnce(
                DOCKER, flags().set("INTERVAL", 0).set("MODE", "audit").add("-e", variable));
        assertThat(cycle.exitCode()).as(cycle.text()).isZero();
        assertThat(cycle.text()).contains(shown);
    }

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

    /**
     * {@code ShippedFlagsTest} shows that its privileges are those of the README, each of which {@code ContainerIT} requires. The modes
     * in which a runtime with the default settings would add no GPU get one that takes no requests from variables.
     */
    @ParameterizedTest
    @CsvSource({"runtimeClass,false", "volumeMounts,true", "hostDriver,false", "privileged,true"})
    void nodePodTerminatesAndDetaches(String access, boolean ignoresVariables) throws IOException {
        ServiceContainer.setRuntimeIgnoresVariables(ignoresVariables);
        assertEnforces(ServiceContainer::start, nodePod(nodeChart(access)), NODE);
    }

    /** In place of the Operator's plugin, the test requests the device that the annotation names. */
    @Test
    void nodePodTerminatesAndDetachesByCdi() throws IOException {
        var chart = nodeChart("cdi");
        var annotations = chart.workload().at("/spec/template/metadata/annotations");
        var device =
                annotations.path("nvidia.cdi.k8s.io/container.genv-enforcer").asText();
        assertEnforces(ContainerIT::startByPodman, nodePod(chart).add("--device", device), NODE);
    }

    /** The runtime takes no requests from variables, and nothing reads the annotation. */
    @ParameterizedTest
    @ValueSource(strings = {"runtimeClass", "cdi"})
    void nodePodReportsThatNoGpuWasAdded(String access) throws IOException {
        ServiceContainer.setRuntimeIgnoresVariables(true);
        try (var service = ServiceContainer.start(nodePod(nodeChart(access)))) {
            service.awaitReady(false);
            assertThat(service.ofHost("problems.code")).contains("gpu_tool_failed");
            assertThat(service.status("/q/health/live")).isEqualTo(200);
        }
    }

    private static RenderedChart nodeChart(String access) {
        return RenderedChart.of(CHART_SETTINGS + "  maxDevicesPerUser: 1\ngpuAccess:\n  mode: " + access + "\n");
    }

    private Flags nodePod(RenderedChart chart) throws IOException {
        var volumes = Map.of(
                "state",
                stateDirectory,
                "data",
                dataFolder(0),
                "gpus",
                Path.of("/dev/null"),
                "driver",
                ServiceContainer.DRIVER);
        var flags = PodFlags.of(chart, volumes).add("-p", "127.0.0.1::8080", "-p", "127.0.0.1::9000");
        if (flags.arguments().contains("--privileged") && !engineHasAllCapabilities()) {
            // As in some sandboxes. The fake of the runtime recognizes a privileged container by SYS_ADMIN.
            flags.without("--privileged").add("--security-opt", "apparmor=unconfined");
            Stream.of("SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH").forEach(each -> flags.add("--cap-add", each));
        }
        return flags;
    }

    private static boolean engineHasAllCapabilities() throws IOException {
        var last = Files.readString(Path.of("/proc/sys/kernel/cap_last_cap")).strip();
        var bounding = Files.readString(Path.of("/proc/self/status"))
                .lines()
                .filter(line -> line.startsWith("CapBnd:"))
                .map(line -> line.replaceFirst("CapBnd:\\s*", ""))
                .findFirst()
                .orElseThrow();
        return Long.parseUnsignedLong(bounding, 16) == (1L << (Integer.parseInt(last) + 1)) - 1;
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
            var chart = remoteChart(host.target(), RealSshd.ADMIN);
            var files = writeFiles(chart, hosts.identity(), Files.readString(hosts.knownHosts()), host.target());
            var flags = remoteFlags(chart, files);
            assertThat(PodFlags.privileges(flags))
                    .containsExactlyInAnyOrder(
                            "--cap-drop ALL",
                            "--security-opt no-new-privileges",
                            "--read-only",
                            "--user 65532:65532",
                            "--mount type=bind,source=%s,target=/etc/genv-enforcer,readonly".formatted(files));
            // The fake machine listens on loopback.
            try (var service = ServiceContainer.startOnLoopback(DOCKER, flags)) {
                assertThat(stray.awaitExit()).isEqualTo(143);
                service.awaitReady(true);
                assertThat(service.json("/hosts").getList("status")).containsExactly("ok");
                service.stop();
                assertThat(service.inspect("{{.State.ExitCode}}")).isEqualTo("143");
            }
        }
    }

    /** The image may have another Java than the tests. The command of the agent shows that the service logged in. */
    @Test
    void imageExchangesKeysWithMlKem() throws IOException {
        var identity = directory.resolve("ecdsa");
        try (var server = FakeSshd.withMlKem(identity)) {
            var chart = remoteChart(server.target(), "root");
            var flags = remoteFlags(chart, writeFiles(chart, identity, server.knownHostsLine(), server.target()));
            try (var _ = ServiceContainer.startOnLoopback(DOCKER, flags)) {
                await().until(() -> server.commands() > 0);
            }
        }
    }

    private static RenderedChart remoteChart(String target, String user) throws IOException {
        return RenderedChart.of(CHART_SETTINGS + """
            mode: remote
            remote:
              hosts: ["%s"]
              username: %s
              identity:
                existingSecret: key
              knownHosts:
                existingConfigMap: known
            """.formatted(target, user));
    }

    private static int groupOf(RenderedChart chart) {
        return chart.pod().at("/securityContext/fsGroup").asInt();
    }

    private Flags remoteFlags(RenderedChart chart, Path files) throws IOException {
        return PodFlags.of(chart, Map.of("files", files, "data", dataFolder(groupOf(chart))));
    }

    private Path writeFiles(RenderedChart chart, Path identity, String knownHosts, String target) throws IOException {
        var group = groupOf(chart);
        var files = Files.createDirectory(directory.resolve("files"));
        Files.copy(identity, files.resolve("identity"));
        Files.writeString(files.resolve("known_hosts"), knownHosts);
        Files.writeString(files.resolve("hosts"), target + "\n");
        for (var name : new String[] {"identity", "known_hosts", "hosts"}) {
            Files.setAttribute(files.resolve(name), "unix:gid", group);
            Files.setAttribute(files.resolve(name), "unix:mode", 0440);
        }
        Files.setAttribute(files, "unix:mode", 0755);
        Files.setAttribute(directory, "unix:mode", 0755);
        return files;
    }

    /**
     * Shows that a container with these flags, under which a user may have one device, ends a process of another user on the machine outside,
     * detaches nothing while others hold genv's lock there and the surplus after it, answers, and stops in time.
     *
     * @param name what it is told to be called; null where it finds that out by itself
     */
    private void assertEnforces(Engine engine, Flags flags, @Nullable String name) throws IOException {
        try (var shell = Child.ofUser(OWNER_UID);
                var member = Child.ofUser(OWNER_UID, Map.of("GENV_ENVIRONMENT_ID", "a"));
                var stray = Child.ofUser(OTHER_UID)) {
            state.env("a", OWNER_UID, null, null, shell.pid())
                    .device(0, "a")
                    .device(1, "a")
                    .device(2)
                    .write();
            gpus.process(0, member.pid(), "10").process(2, stray.pid(), "10");
            var before = devicesJson();
            var held = RealFlock.take(stateDirectory.resolve("genv.lock"));
            try (var service = engine.start(flags.set("LOCK_TIMEOUT", "300ms"))) {
                try (held) {
                    assertThat(stray.awaitExit()).isEqualTo(143);
                    await().ignoreExceptions()
                            .until(() -> service.ofHost("problems.code").contains("lock_timeout"));
                    service.awaitCycles(2);
                    assertThat(devicesJson()).isEqualTo(before);
                }
                await().until(() -> detachments() == 1);
                service.awaitReady(true);
                assertThat(member.isAlive()).isTrue();
                assertThat(shell.isAlive()).isTrue();

                var violations = service.json("/violations");
                assertThat(violations.getList("rule"))
                        .containsExactlyInAnyOrder("non-env-processes", "max-devices-per-user");
                assertThat(service.json("/hosts").getString("[0].host"))
                        .isEqualTo(name == null ? nodeName(service) : name);
                assertThat(service.status("/q/health/live")).isEqualTo(200);
                assertThat(service.log()).contains("outcome=signalled", "outcome=detached");

                service.stop();
                assertThat(service.inspect("{{.State.ExitCode}}")).isEqualTo("143");
            }
        }
    }

    private long detachments() throws IOException {
        return 2
                - devicesJson()
                        .lines()
                        .filter(line -> line.contains("\"eid\": \"a\""))
                        .count();
    }

    private String devicesJson() throws IOException {
        return Files.readString(stateDirectory.resolve("devices.json"));
    }

    /** The machine's; the container's where even root may not look at the machine's first process, as in some sandboxes. */
    private static String nodeName(ServiceContainer service) throws IOException {
        var machines = Path.of("/proc/1/root/etc/hostname");
        return Files.isReadable(machines)
                ? Files.readString(machines).strip()
                : service.inspect("{{.Config.Hostname}}");
    }
}
