package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.Refusal.assertRefused;
import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.KeptExchange;
import dev.genv.enforcer.testsupport.FakeSshd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Who logs in, and with what. */
class LoginTest {
    private static final Duration TIMEOUT = HANG;

    @TempDir
    Path directory;

    private Fleet fleet;
    private FakeSshd server;
    private Path known;

    @BeforeEach
    void start() throws IOException {
        fleet = new Fleet(directory);
        server = fleet.server("127.0.0.2");
        known = fleet.known(server.known());
    }

    @AfterEach
    void close() throws Exception {
        fleet.close();
    }

    @Test
    void aKeyThatIsRefusedIsToldWithWhomItIsFor() throws Exception {
        server.refuses(true);
        var connection = fleet.connect(fleet.access(server.known()), server.target());
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED).isEqualTo("it refuses the key of root");

        server.refuses(false);
        fleet.pass(Duration.ofSeconds(1));
        assertReached(connection);
    }

    @Test
    void theUserOfTheListCountsMoreThanThatOfTheSettings() throws Exception {
        server.user("raz");
        var access = fleet.access(server.known());

        assertRefused(fleet.connect(access, server.target()), ProblemCode.AUTHENTICATION_FAILED)
                .contains("root");
        assertReached(fleet.connect(access, "raz@" + server.target()));
    }

    @Test
    void withoutAnyUserItIsTheServicesOwn() throws Exception {
        server.user(System.getProperty("user.name"));
        var access = fleet.access(new SshSettings(null, fleet.key.file(), null, null, known, TIMEOUT));

        assertReached(fleet.connect(access, server.target()));
    }

    @Test
    void anEncryptedKeyIsOpenedWithItsPassphrase() throws Exception {
        var key = ClientKey.in(directory, "encrypted", "open sesame ");
        try (var its = new FakeSshd("127.0.0.2", key.publicKey()).program("true", (_, _, _) -> 0)) {
            fleet.known(its.known());
            var phrase = fleet.file("phrase", "open sesame \n");
            var access = fleet.access(new SshSettings("root", key.file(), phrase, null, known, TIMEOUT));

            assertReached(fleet.connect(access, its.target()));
        }
    }

    @Test
    void anEncryptedKeyThatNothingOpensIsToldAtTheStart() throws Exception {
        var key = ClientKey.in(directory, "encrypted", "open sesame").file();

        assertThatThrownBy(() -> access(key, null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("encrypted is encrypted, and there is no passphrase file");
        assertThatThrownBy(() -> access(key, fleet.file("phrase", "open barley\n")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Incorrect passphrase");
        assertThatThrownBy(() -> access(key, directory.resolve("nowhere")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nowhere: there is no such file");
    }

    @Test
    void filesThatAreNoKeysAreToldAtTheStart() throws Exception {
        assertThatThrownBy(() -> access(fleet.file("garbage", "garbage"), null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("garbage cannot be used as a private key");
        assertThatThrownBy(() -> access(directory.resolve("nowhere"), null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nowhere: there is no such file");
        assertThatThrownBy(() -> access(directory, null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is not a regular file");
        known = directory.resolve("nobody");
        assertThatThrownBy(() -> access(fleet.key.file(), null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nobody cannot be read");
    }

    @Test
    void withoutAnyKeyThereIsNoLogin() throws Exception {
        var access = fleet.access(new SshSettings("root", null, null, null, known, TIMEOUT));

        assertRefused(fleet.connect(access, server.target()), ProblemCode.AUTHENTICATION_FAILED)
                .contains("there is no private key to log in with");
    }

    @Test
    void aKeyThatIsReplacedIsUsedAtTheNextLogin() throws Exception {
        var wrong = ClientKey.in(directory, "wrong", null);
        var access = fleet.access(new SshSettings("root", wrong.file(), null, null, known, TIMEOUT));
        var connection = fleet.connect(access, server.target());
        assertRefused(connection, ProblemCode.AUTHENTICATION_FAILED);

        Files.write(wrong.file(), Files.readAllBytes(fleet.key.file()));
        fleet.pass(Duration.ofSeconds(1));

        assertReached(connection);
    }

    private SshAccess access(Path identity, @Nullable Path passphrase) {
        return fleet.access(new SshSettings("root", identity, passphrase, null, known, TIMEOUT));
    }

    private static void assertReached(KeptExchange connection) throws Exception {
        assertThat(connection.run(Fleet.request("true")).exitCode()).isZero();
    }
}
