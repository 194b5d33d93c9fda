package dev.genv.enforcer.e2e;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.RealSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;

/** The ways to get into a machine, with real OpenSSH servers. */
class RemoteLoginIT extends OnAnSshFleet {

    @Test
    void rootNeedsNoSudo() throws IOException {
        first.sudoers("");
        second.sudoers("");
        var stray = stray(second);

        var output = fleet.node
                .set("REMOTE_USERNAME", "root")
                .set("REMOTE_SUDO", false)
                .set("NON_ENV_PROCESSES", "true")
                .once();

        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitEnd()).isEqualTo(143);
    }

    @Test
    void aUserOfTheListComesBeforeTheGeneralOne() throws IOException {
        var stray = stray(first);

        var output = fleet.node
                .set("REMOTE_HOSTS", "%s@%s".formatted(RealSshd.ADMIN, first.target()))
                .set("REMOTE_USERNAME", "nobody")
                .set("NON_ENV_PROCESSES", "true")
                .once();

        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitEnd()).isEqualTo(143);
        assertThat(output.out())
                .contains("[%s] Process %d is not running in a GPU environment".formatted(first.target(), stray.pid()));
    }

    @Test
    void namesAndKeysComeFromAClientsConfiguration() throws IOException {
        var config = fleet.config(first, second);
        Files.writeString(
                config,
                """
                Host *
                  User %s
                  IdentityFile %s
                  UserKnownHostsFile %s
                """.formatted(RealSshd.ADMIN, fleet.hosts.identity(), fleet.hosts.knownHosts()),
                StandardOpenOption.APPEND);
        var stray = stray(second);

        var output = fleet.node
                .unset("REMOTE_USERNAME")
                .unset("REMOTE_IDENTITY_FILE")
                .set("REMOTE_SSH_CONFIG", config)
                .set("REMOTE_HOSTS", "gpu-1 , gpu-2")
                .set("NON_ENV_PROCESSES", "true")
                .once();

        assertThat(output.log()).as("the log").noneMatch(line -> line.contains("ProblemLog"));
        assertThat(output.exitCode()).isZero();
        assertThat(stray.awaitEnd()).isEqualTo(143);
        assertThat(output.out())
                .first()
                .isEqualTo("[gpu-2] Process %d is not running in a GPU environment".formatted(stray.pid()));
    }

    @Test
    void aMachineBehindAnother() throws IOException {
        var config = fleet.config(first, second);
        Files.writeString(config, """
                Host gpu-2
                  ProxyJump gpu-1
                Host *
                  User %s
                """.formatted(RealSshd.ADMIN), StandardOpenOption.APPEND);
        var stray = stray(second);

        var output = fleet.node
                .set("REMOTE_SSH_CONFIG", config)
                .set("REMOTE_HOSTS", "gpu-2")
                .set("NON_ENV_PROCESSES", "true")
                .once();

        assertThat(output.exitCode()).as("%s", output.log()).isZero();
        assertThat(stray.awaitEnd()).isEqualTo(143);
        assertThat(first.log()).contains("Accepted publickey for " + RealSshd.ADMIN);
        assertThat(second.log()).contains("Connection from 127.0.0.1 ");
    }

    @Test
    void aKeyWithAPassphrase() throws IOException {
        Command.run(
                "ssh-keygen",
                "-q",
                "-p",
                "-N",
                "open sesame",
                "-f",
                fleet.hosts.identity().toString());
        var passphrase = Files.writeString(directory.resolve("passphrase"), "open sesame\n");
        var stray = stray(first);

        var output = fleet.node
                .set("REMOTE_PASSPHRASE_FILE", passphrase)
                .set("NON_ENV_PROCESSES", "true")
                .once();

        assertThat(output.exitCode()).as("%s", output.log()).isZero();
        assertThat(stray.awaitEnd()).isEqualTo(143);
    }

    @Test
    void oneConnectionServesAllCycles() throws Exception {
        var face = new Face(fleet.node.serve());
        var look = face.look(first.target());
        for (var looks = 0; looks < 4; looks++) {
            look = face.after(look, first.target());
        }
        assertThat(first.log().lines().filter(line -> line.startsWith("Accepted publickey")))
                .hasSize(1);
    }

    @Test
    void nothingStaysBehindOnAMachine() throws Exception {
        var service = fleet.node.serve();
        new Face(service).awaitGood(HANG, first.target());

        service.stop();

        await().until(() -> first.processes().size() == 1);
    }
}
