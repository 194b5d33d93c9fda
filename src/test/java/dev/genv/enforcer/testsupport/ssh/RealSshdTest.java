package dev.genv.enforcer.testsupport.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The fake machines and their faults, with OpenSSH's own client. */
class RealSshdTest {
    @TempDir
    Path directory;

    private RealHosts hosts;
    private RealSshd first;

    private record CommandOutput(int exitCode, String out, String errors) {}

    @BeforeEach
    void start() throws IOException {
        hosts = new RealHosts(directory.resolve("hosts"));
        first = hosts.start("gpu-1");
    }

    @AfterEach
    void close() throws IOException {
        if (hosts != null) {
            var processes = first.processes();
            hosts.close();
            assertThat(processes).noneMatch(RealSshdTest::isRunning);
        }
    }

    @Test
    void rootLogsInAndHasItsOwnFiles() throws Exception {
        first.addUser("alice", 54_011).gpus().gpus(2);
        first.state().ownEnv("a", null).write();

        var said = ssh(
                "root",
                first,
                "id -u; uname -n; id -un 54011; nvidia-smi --query-gpu=index,uuid,memory.used"
                        + " --format=csv,noheader,nounits; ls /var/tmp/genv; echo $HOME $SHELL");

        assertThat(said.exitCode()).as(said.errors()).isZero();
        assertThat(said.out())
                .isEqualTo("0\ngpu-1\nalice\n0, %s, 0\n1, %s, 0\ndevices.json\nenvs.json\n/home/root /home/shell\n"
                        .formatted(FakeNvidiaSmi.uuid(0), FakeNvidiaSmi.uuid(1)));
    }

    @Test
    void administratorBecomesRootThroughSudo() throws Exception {
        assertThat(ssh(RealSshd.ADMIN, first, "id -u; sudo -n id -u").out()).isEqualTo("54100\n0\n");

        first.sudoers(RealSshd.ADMIN + " ALL=(root) NOPASSWD: /bin/sh");
        assertThat(ssh(RealSshd.ADMIN, first, "echo 'id -u' | sudo -n /bin/sh").out())
                .isEqualTo("0\n");
        assertThat(ssh(RealSshd.ADMIN, first, "sudo -n id -u").exitCode()).isEqualTo(1);

        first.sudoers(RealSshd.ADMIN + " ALL=(ALL) ALL");
        assertThat(ssh(RealSshd.ADMIN, first, "sudo -n id -u").errors()).contains("sudo: a password is required");
    }

    @Test
    void machinesHaveDifferentIdentitiesAndState() throws Exception {
        var second = hosts.start("gpu-2");
        second.state().ownEnv("b", null).write();

        var mine = ssh("root", first, "cat /etc/machine-id; ls /var/tmp/genv").out();
        var other = ssh("root", second, "cat /etc/machine-id; ls /var/tmp/genv").out();

        assertThat(mine).hasSize(33);
        assertThat(other).hasSize(33 + "devices.json\nenvs.json\n".length()).doesNotContain(mine);
        assertThat(mine).isNotEqualTo(Files.readString(Path.of("/etc/machine-id")));
    }

    @Test
    void sharesThePidNamespaceOfTheNode() throws Exception {
        try (var child = Child.inEnvironment("a")) {
            var command = "readlink /proc/self/ns/pid; kill -TERM " + child.pid();

            assertThat(ssh("root", first, command).out())
                    .isEqualTo(Files.readSymbolicLink(Path.of("/proc/self/ns/pid")) + "\n");
            assertThat(child.awaitExit()).isEqualTo(143);
        }
    }

    @Test
    void clientRefusesANewHostKey() throws Exception {
        first.newHostKey();
        first.stop();
        first.start();

        assertThat(ssh("root", first, "true").errors()).contains("REMOTE HOST IDENTIFICATION HAS CHANGED");

        hosts.writeKnownHosts();
        assertThat(ssh("root", first, "true").exitCode()).isZero();
    }

    @Test
    void refusesAKeyThatIsNotAuthorized() throws Exception {
        first.refuseKey();
        assertThat(ssh("root", first, "true").errors()).contains("Permission denied (publickey)");

        first.acceptKey();
        assertThat(ssh("root", first, "true").exitCode()).isZero();
    }

    @Test
    void restartsAtTheSamePort() throws Exception {
        first.stop();
        assertThat(ssh("root", first, "true").errors()).contains("Connection refused");

        first.start();
        assertThat(ssh("root", first, "true").exitCode()).isZero();
    }

    @Test
    void cutsConnectionsDuringACommand() throws Exception {
        var client = client("root", first, "echo begun; sleep 600; echo done");
        var out = client.inputReader(StandardCharsets.UTF_8);
        assertThat(out.readLine()).isEqualTo("begun");

        first.cutConnections();

        assertThat(client.waitFor()).isEqualTo(255);
        assertThat(out.readLine()).isNull();
        assertThat(ssh("root", first, "true").exitCode()).isZero();
    }

    @Test
    void frozenMachineAnswersOnlyAfterItThaws() throws Exception {
        first.freeze();
        await().until(() ->
                first.processes().stream().allMatch(process -> state(process).equals("T")));
        var client = client("root", first, "echo done");

        first.thaw();

        assertThat(client.waitFor()).isZero();
    }

    @Test
    void loginShellRunsTheConfiguredScript() throws Exception {
        first.setLoginShell("echo Welcome; echo '@ to gpu-1'");
        assertThat(ssh("root", first, "echo done").out()).isEqualTo("Welcome\n@ to gpu-1\ndone\n");

        first.setLoginShell("echo garbage; exit 3");
        assertThat(ssh("root", first, "echo done")).isEqualTo(new CommandOutput(3, "garbage\n", ""));

        first.setLoginShell("");
        assertThat(ssh("root", first, "echo done").out()).isEqualTo("done\n");
    }

    @Test
    void bashReadsItsConfiguration() throws Exception {
        first.writeBashrc(RealSshd.ADMIN, "echo noise; PATH=/nowhere\n");

        var said = ssh(RealSshd.ADMIN, first, "sudo -n /bin/sh");

        assertThat(said.out()).isEqualTo("noise\n");
        assertThat(said.errors()).contains("sudo: command not found");
        assertThat(said.exitCode()).isEqualTo(127);
    }

    @Test
    void closingKillsProcessesLeftByConnections() throws Exception {
        ssh("root", first, "setsid sleep 601 >/dev/null 2>&1 </dev/null & echo left");

        await().until(() -> first.processes().size() > 1);
        assertThat(first.connections()).isEmpty();
    }

    private static boolean isRunning(ProcessHandle process) {
        return !Set.of("", "Z").contains(state(process));
    }

    /** Returns the letter that the kernel shows; nothing if the process has exited. */
    private static String state(ProcessHandle process) {
        try {
            var stat = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
            var letter = stat.lastIndexOf(')') + 2;
            return stat.substring(letter, letter + 1);
        } catch (IOException _) {
            return "";
        }
    }

    private CommandOutput ssh(String user, RealSshd host, String command) throws Exception {
        var client = client(user, host, command);
        client.getOutputStream().close();
        var out = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        var errors = new String(client.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        return new CommandOutput(client.waitFor(), out, errors);
    }

    private Process client(String user, RealSshd host, String command) throws IOException {
        var options = List.of(
                "-F", "none",
                "-i", hosts.identity().toString(),
                "-o", "UserKnownHostsFile=" + hosts.knownHosts(),
                "-o", "StrictHostKeyChecking=yes",
                "-o", "BatchMode=yes",
                "-o", "IdentitiesOnly=yes",
                "-o", "LogLevel=ERROR");
        var arguments = new ArrayList<>(List.of("ssh"));
        arguments.addAll(options);
        arguments.addAll(List.of("-p", Integer.toString(host.port()), user + "@" + host.address(), command));
        return new ProcessBuilder(arguments).start();
    }
}
