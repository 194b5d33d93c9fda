package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import dev.genv.enforcer.testsupport.ssh.FakeSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The user and the keys of a login. */
class LoginTest extends ServerTest {
    private static final Duration TIMEOUT = HANG;
    private Path knownHosts;

    @BeforeEach
    void prepare() throws IOException {
        knownHosts = writeKnownHosts(server.knownHostsLine());
    }

    @Test
    void reportsRefusedKeyAndItsUser() throws Exception {
        server.refuseKeys(true);
        var connection = connect(access(server.knownHostsLine()), server.target());
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED).isEqualTo("it refuses the key of root");

        server.refuseKeys(false);
        advanceTime(Duration.ofSeconds(1));
        assertReached(connection);
    }

    @Test
    void decryptsKeyWithItsPassphrase() throws Exception {
        var key = ClientKey.create(directory, "encrypted", "open sesame ");
        try (var its = new FakeSshd("127.0.0.2", key.publicKey()).addProgram("true", (_, _, _) -> 0)) {
            writeKnownHosts(its.knownHostsLine());
            var phrase = writeFile("phrase", "open sesame \n");
            var access = access(new SshSettings("root", key.file(), phrase, null, null, knownHosts, TIMEOUT));

            assertReached(connect(access, its.target()));
        }
    }

    @Test
    void startFailsWhenAFileCannotBeUsed() throws Exception {
        var key = ClientKey.create(directory, "encrypted", "open sesame").file();
        assertStartFails(key, null, "encrypted is encrypted, and no passphrase file");
        assertStartFails(key, writeFile("phrase", "open barley\n"), "Incorrect passphrase");
        assertStartFails(writeFile("garbage", "garbage"), null, "garbage cannot be used as a private key");
        assertStartFails(directory.resolve("nowhere"), null, "nowhere: there is no such file");
        knownHosts = directory.resolve("nobody");
        assertStartFails(this.key.file(), null, "nobody cannot be read");
    }

    private void assertStartFails(Path identity, @Nullable Path passphrase, String why) {
        var settings = new SshSettings("root", identity, passphrase, null, null, knownHosts, TIMEOUT);
        assertThatThrownBy(() -> access(settings))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }

    @Test
    void loginFailsWithoutAKey() throws Exception {
        var access = access(new SshSettings("root", null, null, null, null, knownHosts, TIMEOUT));

        assertRefused(connect(access, server.target()), ProblemCode.AUTHENTICATION_FAILED)
                .contains("there is no private key to log in with");
    }

    @Test
    void replacedKeyIsUsedAtTheNextLogin() throws Exception {
        var wrong = ClientKey.create(directory, "wrong", null);
        var access = access(new SshSettings("root", wrong.file(), null, null, null, knownHosts, TIMEOUT));
        var connection = connect(access, server.target());
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED);

        Files.write(wrong.file(), Files.readAllBytes(key.file()));
        advanceTime(Duration.ofSeconds(1));

        assertReached(connection);
    }
}
