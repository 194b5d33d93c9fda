package dev.genv.enforcer.e2e.remote;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.RealFlock;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import dev.genv.enforcer.testsupport.ssh.RealHosts;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What the service does on machines with real OpenSSH servers, sudo and processes. */
class RemoteIT {
    /** The rule of sudo that the administrator needs. */
    private static final String SUDOERS = RealSshd.ADMIN + " ALL=(root) NOPASSWD: /usr/bin/python3";

    private static final int ALICE_UID = 54_011;

    @TempDir
    private Path directory;

    private final List<Child> children = new ArrayList<>();
    private RealHosts hosts;
    /** The packaged program, which logs in as the administrator of the machines. */
    private Node node;

    private RealSshd first;
    private RealSshd second;

    @BeforeEach
    void makeFleet() throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        // These paths exist on the machines and not on the node of the program.
        node = new Node(Files.createDirectory(directory.resolve("program")))
                .unset("STATE_DIR")
                .unset("NVIDIA_SMI")
                .unset("NODE_NAME")
                // A slow machine needs longer for a login than the default.
                .set("REMOTE_TIMEOUT", "%ds".formatted(HANG.toSeconds()))
                .set("REMOTE_USERNAME", RealSshd.ADMIN)
                .set("REMOTE_IDENTITY_FILE", hosts.identity())
                .set("REMOTE_KNOWN_HOSTS", hosts.knownHosts());
        first = startMachine("gpu-1");
        second = startMachine("gpu-2");
        setHosts(first, second);
    }

    @AfterEach
    void closeFleet() throws IOException {
        if (node != null) { // the requirement may be missing
            node.close();
            hosts.close();
        }
        children.forEach(Child::close);
    }

    /** Starts another machine with three GPUs. */
    private RealSshd startMachine(String name) throws IOException {
        var host = hosts.start(name);
        host.sudoers(SUDOERS);
        host.gpus().gpus(3);
        return host;
    }

    private void setHosts(RealSshd... listed) {
        node.set("REMOTE_HOSTS", Arrays.stream(listed).map(RealSshd::target).collect(Collectors.joining(",")));
    }

    /** The packaged program has another class loader than tests. Its command ends, which shows that it logged in. */
    @Test
    void packagedProgramExchangesKeysWithMlKem() throws IOException {
        var identity = directory.resolve("ecdsa");
        try (var server = FakeSshd.withMlKem(identity)) {
            var known = Files.writeString(directory.resolve("known"), server.knownHostsLine());
            node.set("REMOTE_HOSTS", server.target())
                    .set("REMOTE_USERNAME", "root")
                    .set("REMOTE_IDENTITY_FILE", identity)
                    .set("REMOTE_KNOWN_HOSTS", known);
            assertThat(node.runOnce().exitCode()).isEqualTo(1);
            assertThat(server.commands()).isPositive();
        }
    }

    @Test
    void heldLockPreventsOnlyDetachments() throws IOException {
        attachTwoDevicesOfAlice(first);
        var devices = devicesJson(first);
        var stray = startStray(first);
        node.set("NON_ENV_PROCESSES", "true").set("MAX_DEVICES_PER_USER", 1).set("LOCK_TIMEOUT", "300ms");
        try (var _ = RealFlock.take(first.stateDirectory().resolve("genv.lock"))) {
            var held = node.runOnce();
            assertThat(held.exitCode()).isEqualTo(1);
            assertThat(stray.awaitExit()).isEqualTo(143);
            assertThat(held.out())
                    .last()
                    .asString()
                    .contains("(failed: ")
                    .contains("process %d (java)"
                            .formatted(ProcessHandle.current().pid()));
            assertThat(devices).hasContent(first.state().devicesJson());
        }

        var output = node.runOnce();
        assertThat(output.exitCode()).isZero();
        assertThat(devices).as("%s", output).hasContent(first.state().device(1).devicesJson());
    }

    private void attachTwoDevicesOfAlice(RealSshd host) throws IOException {
        var shell = closeLater(Child.ofUser(ALICE_UID));
        host.addUser("alice", ALICE_UID);
        host.state()
                .env("alices", ALICE_UID, "alice", null, shell.pid())
                .device(0, "alices")
                .device(1, "alices")
                .device(2)
                .write();
    }

    private static Path devicesJson(RealSshd host) {
        return host.stateDirectory().resolve("devices.json");
    }

    @Tag("long")
    @Test
    void quotaCountsDevicesOnAllMachinesExceptOnesThatCannotBeReached() throws IOException {
        var third = startMachine("gpu-3");
        for (var host : List.of(first, second, third)) {
            attachTwoDevicesOfAlice(host);
        }
        setHosts(first, second, third);
        third.stop();
        var output = node.set("MAX_DEVICES_PER_USER", 3).runOnce();
        assertThat(output.exitCode()).isEqualTo(1);
        assertThat(output.log()).anyMatch(line -> line.contains(third.target()) && line.contains("host_unreachable"));
        assertThat(output.out())
                .contains("User alice is using 4 devices on 2 hosts which is 1 more than the maximum allowed")
                .last()
                .asString()
                .endsWith("Detaching environment alices of user alice from device 1");
        var changed = new ArrayList<RealSshd>();
        for (var host : List.of(first, second, third)) {
            if (!Files.readString(devicesJson(host)).equals(host.state().devicesJson())) {
                changed.add(host);
            }
        }
        assertThat(changed).singleElement().satisfies(there -> {
            assertThat(output.out().getLast()).startsWith("[%s] ".formatted(there.target()));
            assertThat(devicesJson(there)).hasContent(there.state().device(1).devicesJson());
        });
    }

    /** One machine is known by its certificate and accepts a key of ssh-agent, the other one a key in PKCS#8. */
    @Test
    void logsInAsTheIncludedSshConfigurationTells() throws Exception {
        var authority = directory.resolve("CA");
        Programs.newKey("ed25519", authority);
        first.stop();
        first.certify(authority, "-h", "-n", address(first));
        first.start();
        var key = directory.resolve("pkcs8");
        Programs.run("ssh-keygen", "-q", "-t", "ecdsa", "-m", "PKCS8", "-N", "", "-f", key.toString());
        second.authorize(Files.readString(directory.resolve("pkcs8.pub")));
        Files.writeString(
                directory.resolve("fleet.conf"),
                "Match host %s\nIdentityFile %s\nMatch all\nUser %s\n".formatted(address(second), key, RealSshd.ADMIN));
        var known = Files.readAllLines(hosts.knownHosts()).getLast() + "\n@cert-authority 127.* "
                + Files.readString(directory.resolve("CA.pub"));
        var socket = directory.resolve("agent");
        var agent = new ProcessBuilder("ssh-agent", "-D", "-a", socket.toString()).start();
        try {
            await().until(() -> Files.exists(socket));
            Programs.run(
                    "env",
                    "SSH_AUTH_SOCK=" + socket,
                    "ssh-add",
                    "-q",
                    hosts.identity().toString());
            var output = node.unset("REMOTE_USERNAME")
                    .unset("REMOTE_IDENTITY_FILE")
                    .variable("SSH_AUTH_SOCK", socket.toString())
                    .set("REMOTE_SSH_CONFIG", Files.writeString(directory.resolve("ssh_config"), "Include *.conf\n"))
                    .set("REMOTE_KNOWN_HOSTS", Files.writeString(directory.resolve("known"), known))
                    .runOnce();
            assertThat(output.exitCode()).as("%s", output).isZero();
        } finally {
            agent.destroyForcibly();
        }
    }

    private static String address(RealSshd host) {
        return host.target().split(":", -1)[0];
    }

    interface Step {
        void run(RealSshd host) throws Exception;
    }

    /** The agent keeps running as long as its connection, so that a fault of the login shows at the next one. */
    private static Step atLogin(Step cause) {
        return host -> {
            cause.run(host);
            host.cutConnections();
        };
    }

    static Stream<Arguments> faults() {
        return Stream.of(
                Arguments.of("host_unreachable", (Step) RealSshd::stop, (Step) RealSshd::start),
                Arguments.of("connect_timeout", (Step) RealSshd::freeze, (Step) RealSshd::thaw),
                Arguments.of("sudo_refused", atLogin(host -> host.sudoers(RealSshd.ADMIN + " ALL=(ALL) ALL")), (Step)
                        host -> host.sudoers(SUDOERS)),
                Arguments.of("answer_too_long", atLogin(host -> host.setLoginShell("exec cat /dev/zero")), (Step)
                        host -> host.setLoginShell("")));
    }

    @Tag("long")
    @ParameterizedTest
    @MethodSource("faults")
    void faultOfAMachineAffectsNoOtherAndEndsWithoutHelp(String problem, Step cause, Step remedy) throws Exception {
        node.set("NON_ENV_PROCESSES", "true").set("GRACE", "0s").set("REMOTE_TIMEOUT", "20s");
        var client = new ServiceClient(node.startService());
        client.awaitHealthy(first.target());
        client.awaitHealthy(second.target());

        cause.run(first);
        var stray = startStray(first);
        startStray(second).awaitExit();
        await().until(() -> client.observe(first.target()).problems().contains(problem));
        assertThat(stray.isAlive()).isTrue();

        remedy.run(first);
        stray.awaitExit();
        client.awaitHealthy(first.target());
    }

    @Tag("long")
    @Test
    void machinesCanBeAddedAndRemovedInTheHostFile() throws IOException {
        var file = writeHostFile("# the fleet\n%s\n".formatted(first.target()));
        node.unset("REMOTE_HOSTS")
                .set("REMOTE_HOSTFILE", file)
                .set("GRACE", "0s")
                .set("NON_ENV_PROCESSES", "true");
        var service = node.startService();
        var serviceClient = new ServiceClient(service);
        serviceClient.awaitHealthy(first.target());
        var stray = startStray(second);
        assertThat(serviceClient.json("/hosts")).hasSize(1);

        writeHostFile("%s # the old one\n\n%s\n".formatted(first.target(), second.target()));
        stray.awaitExit();
        serviceClient.awaitHealthy(second.target());

        writeHostFile(second.target() + "\n");
        await().until(() -> serviceClient.json("/hosts").size() == 1);
        assertThat(serviceClient.observe(second.target())).matches(ServiceClient.Observation::isHealthy);
        await().until(() -> first.connections().isEmpty());

        writeHostFile("not a host name\n");
        await().until(() -> service.outputLines().stream()
                .anyMatch(line -> line.contains(file + " cannot be used") && line.contains("line 1")));
        startStray(second).awaitExit();
        assertThat(serviceClient.json("/hosts")).as("the last good list").hasSize(1);

        service.stop();
        await("no process is left on the machine")
                .until(() -> second.processes().size() == 1);
    }

    @Tag("long")
    @Test
    void exitOnErrorStopsTheServiceAndQuietModeOmitsTheErrorFromTheLog() throws Exception {
        var service = node.set("REMOTE_EXIT_ON_ERROR", "true")
                .set("REMOTE_QUIET", "true")
                .startService();
        var serviceClient = new ServiceClient(service);
        serviceClient.awaitHealthy(first.target());
        serviceClient.awaitHealthy(second.target());

        second.stop();

        assertThat(service.process().waitFor(HANG.toSeconds(), TimeUnit.SECONDS))
                .isTrue();
        assertThat(service.process().exitValue()).isEqualTo(1);
        assertThat(service.outputLines())
                .noneMatch(line -> line.contains("host_unreachable"))
                .anyMatch(line ->
                        line.contains("Exiting, because host %s could not be reached".formatted(second.target())));
    }

    private Child closeLater(Child child) {
        children.add(child);
        return child;
    }

    /** Starts a process outside of all environments on the first GPU of a machine. */
    private Child startStray(RealSshd host) throws IOException {
        var stray = closeLater(Child.withEnvironment(Map.of()));
        host.gpus().process(0, stray.pid(), "10");
        return stray;
    }

    private Path writeHostFile(String lines) throws IOException {
        var finished = Files.writeString(directory.resolve("hosts.new"), lines);
        return Files.move(finished, directory.resolve("hosts.txt"), StandardCopyOption.ATOMIC_MOVE);
    }
}
