package dev.genv.enforcer.e2e.remote;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.Command;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.e2e.SshFleetSuite;
import dev.genv.enforcer.testsupport.ssh.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The ways to log in on a machine, with real OpenSSH servers. */
@Tag("long")
class RemoteLoginIT extends SshFleetSuite {

    @Test
    void logsInAsRootWithoutSudo() throws IOException {
        first.sudoers("");
        second.sudoers("");
        var stray = startStray(second);

        var output = fleet.node
                .set("REMOTE_USERNAME", "root")
                .set("REMOTE_SUDO", false)
                .set("NON_ENV_PROCESSES", "true")
                .runOnce();

        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitExit()).isEqualTo(143);
    }

    @Test
    void userInTheHostListOverridesTheSetting() throws IOException {
        var stray = startStray(first);

        var output = fleet.node
                .set("REMOTE_HOSTS", "%s@%s".formatted(RealSshd.ADMIN, first.target()))
                .set("REMOTE_USERNAME", "nobody")
                .set("NON_ENV_PROCESSES", "true")
                .runOnce();

        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitExit()).isEqualTo(143);
        assertThat(output.out())
                .contains("[%s] Process %d is not running in a GPU environment".formatted(first.target(), stray.pid()));
    }

    @Test
    void usesNamesAndKeysOfTheSshConfiguration() throws IOException {
        var config = fleet.writeSshConfig(first, second);
        Files.writeString(
                config,
                """
                Host *
                  User %s
                  IdentityFile %s
                  UserKnownHostsFile %s
                """.formatted(RealSshd.ADMIN, fleet.hosts.identity(), fleet.hosts.knownHosts()),
                StandardOpenOption.APPEND);
        var stray = startStray(second);

        var output = fleet.node
                .unset("REMOTE_USERNAME")
                .unset("REMOTE_IDENTITY_FILE")
                .set("REMOTE_SSH_CONFIG", config)
                .set("REMOTE_HOSTS", "gpu-1 , gpu-2")
                .set("NON_ENV_PROCESSES", "true")
                .runOnce();

        assertThat(output.log()).as("the log").noneMatch(line -> line.contains("ProblemLog"));
        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitExit()).isEqualTo(143);
        assertThat(output.out())
                .first()
                .isEqualTo("[gpu-2] Process %d is not running in a GPU environment".formatted(stray.pid()));
    }

    @Test
    void reachesAMachineThroughAJumpHost() throws IOException {
        var config = fleet.writeSshConfig(first, second);
        Files.writeString(config, """
                Host gpu-2
                  ProxyJump gpu-1
                Host *
                  User %s
                """.formatted(RealSshd.ADMIN), StandardOpenOption.APPEND);
        var stray = startStray(second);

        var output = fleet.node
                .set("REMOTE_SSH_CONFIG", config)
                .set("REMOTE_HOSTS", "gpu-2")
                .set("NON_ENV_PROCESSES", "true")
                .runOnce();

        assertThat(output.exitCode()).as("%s", output.log()).isZero();
        assertThat(stray.awaitExit()).isEqualTo(143);
        assertThat(first.log()).contains("Accepted publickey for " + RealSshd.ADMIN);
        assertThat(second.log()).contains("Connection from 127.0.0.1 ");
    }

    @Test
    void decryptsTheKeyWithItsPassphrase() throws IOException {
        Command.run(
                "ssh-keygen",
                "-q",
                "-p",
                "-N",
                "open sesame",
                "-f",
                fleet.hosts.identity().toString());
        var passphrase = Files.writeString(directory.resolve("passphrase"), "open sesame\n");
        var stray = startStray(first);

        var output = fleet.node
                .set("REMOTE_PASSPHRASE_FILE", passphrase)
                .set("NON_ENV_PROCESSES", "true")
                .runOnce();

        assertThat(output.exitCode()).as("%s", output.log()).isZero();
        assertThat(stray.awaitExit()).isEqualTo(143);
    }

    @Test
    void usesOneConnectionForAllCycles() throws Exception {
        var serviceClient = new ServiceClient(fleet.node.startService());
        var observation = serviceClient.observe(first.target());
        for (var observations = 0; observations < 4; observations++) {
            observation = serviceClient.awaitNext(observation, first.target());
        }
        assertThat(first.log().lines().filter(line -> line.startsWith("Accepted publickey")))
                .hasSize(1);
    }

    @Test
    void leavesNoProcessOnTheMachineAfterStop() throws Exception {
        var service = fleet.node.startService();
        new ServiceClient(service).awaitHealthy(HANG, first.target());

        service.stop();

        await().until(() -> first.processes().size() == 1);
    }
}
