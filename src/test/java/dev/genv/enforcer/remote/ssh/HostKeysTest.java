package dev.genv.enforcer.remote.ssh;

import static dev.genv.enforcer.remote.ssh.LoginFailure.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import com.jcraft.jsch.HostKeyRepository;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The trusted keys of servers. */
class HostKeysTest extends ServerTest {
    private static final String ED25519 =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    private String otherKey;

    @BeforeEach
    void prepare() throws IOException {
        otherKey = fleet.server("127.0.0.3").hostKey();
    }

    @Test
    void refusesUnknownKeyAndNamesTheRemedy() throws Exception {
        assertRefused(connectionWithKnownHosts("# nobody\n"), ProblemCode.HOST_KEY_UNKNOWN)
                .matches("its key \\(ecdsa-sha2-nistp256 SHA256:\\S+\\) is not in \\S+/known_hosts: .*")
                .endsWith("add the line of ssh-keyscan -p %d 127.0.0.2".formatted(server.port()));
        assertThat(server.commands()).isZero();
        assertThat(Files.readString(directory.resolve("known_hosts"))).isEqualTo("# nobody\n");
    }

    @Test
    void keyOfAnotherHostOrPortIsUnknown() throws Exception {
        assertRefused(
                connectionWithKnownHosts("[127.0.0.3]:%d %s\n".formatted(server.port(), server.hostKey())),
                ProblemCode.HOST_KEY_UNKNOWN);
        assertRefused(
                connectionWithKnownHosts("[127.0.0.2]:%d %s\n".formatted(server.port() + 1, server.hostKey())),
                ProblemCode.HOST_KEY_UNKNOWN);
    }

    @Test
    void refusesChangedKey() throws Exception {
        assertRefused(connectionWithKnownHosts(server.keyName() + " " + otherKey + "\n"), ProblemCode.HOST_KEY_CHANGED)
                .contains("is not the one in ", "for " + server.keyName(), "SHA256:", "another machine may intercept");
    }

    @Test
    void keyOfAnotherTypeCountsAsChanged() throws Exception {
        assertRefused(connectionWithKnownHosts(server.keyName() + " " + ED25519 + "\n"), ProblemCode.HOST_KEY_CHANGED);
    }

    @Test
    void acceptsAnyOfSeveralKeysOfAHost() throws Exception {
        assertReached(connectionWithKnownHosts(server.keyName() + " " + ED25519 + "\n" + server.keyName() + " "
                + otherKey + "\n" + server.knownHostsLine()));
    }

    @Test
    void nameWithoutPortMatchesEveryPort() throws Exception {
        assertReached(connectionWithKnownHosts("127.0.0.9,127.0.0.2 " + server.hostKey() + " somebody's comment\n"));
    }

    @Test
    void keyOfThePortOverridesKeyOfTheHost() throws Exception {
        assertRefused(
                connectionWithKnownHosts(
                        "127.0.0.2 " + server.hostKey() + "\n" + server.keyName() + " " + otherKey + "\n"),
                ProblemCode.HOST_KEY_CHANGED);
    }

    @Test
    void supportsHashedNames() throws Exception {
        assertReached(connectionWithKnownHosts(hashed("elsewhere") + " " + otherKey + "\n" + hashed(server.keyName())
                + " " + server.hostKey() + "\n"));
        assertRefused(
                connectionWithKnownHosts(hashed(server.keyName()) + " " + otherKey + "\n"),
                ProblemCode.HOST_KEY_CHANGED);
        assertRefused(
                connectionWithKnownHosts(hashed("elsewhere") + " " + server.hostKey() + "\n"),
                ProblemCode.HOST_KEY_UNKNOWN);
    }

    @Test
    void refusesRevokedKeyEvenIfItIsKnown() throws Exception {
        var revoked = "@revoked " + server.keyName() + " " + server.hostKey() + "\n";

        assertRefused(connectionWithKnownHosts(revoked), ProblemCode.HOST_KEY_CHANGED)
                .contains("is revoked in ");
        assertRefused(connectionWithKnownHosts(revoked + server.knownHostsLine()), ProblemCode.HOST_KEY_CHANGED)
                .contains("is revoked in ");
        assertRefused(connectionWithKnownHosts(server.knownHostsLine() + revoked), ProblemCode.HOST_KEY_CHANGED)
                .contains("is revoked in ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"*", "[127.0.0.*]:*", "*,!127.0.0.2", "elsewhere", "|1|AAAA|BBBB"})
    void refusesKeyRevokedForAnyHost(String hosts) throws Exception {
        var revoked = "@revoked " + hosts + " " + server.hostKey() + "\n";

        assertRefused(connectionWithKnownHosts(revoked + server.knownHostsLine()), ProblemCode.HOST_KEY_CHANGED)
                .contains("is revoked in ");
        assertRefused(connectionWithKnownHosts(server.knownHostsLine() + revoked), ProblemCode.HOST_KEY_CHANGED)
                .contains("is revoked in ");
    }

    /** JSch would compare the markers of a key only after this check has accepted it. */
    @ParameterizedTest
    @ValueSource(strings = {"", "%1$s %2$s\n", "127.0.0.2 %2$s\n"})
    void refusesRevokedKeyByTheServicesOwnCheck(String trusted) throws Exception {
        var keys = keysWithTrustedLineAnd(trusted, "@revoked * " + server.hostKey() + "\n");
        var key = Base64.getDecoder().decode(server.hostKey().split(" ", 3)[1]);

        assertThat(keys.check(server.keyName(), key)).isEqualTo(HostKeyRepository.CHANGED);
        assertThat(keys.check("elsewhere", key)).isEqualTo(HostKeyRepository.CHANGED);
    }

    @Test
    void refusesKeyThatAnotherFileRevokes() throws Exception {
        var revoking = fleet.writeFile("revoked", "@revoked * " + server.hostKey() + "\n");
        var config = "IdentityFile %s\nHost 127.0.0.2\nUserKnownHostsFile %s %s"
                .formatted(fleet.key.file(), directory.resolve("known_hosts"), revoking);

        assertRefused(
                        fleet.connect(fleet.accessWithConfig(config, "root", server.knownHostsLine()), server.target()),
                        ProblemCode.HOST_KEY_CHANGED)
                .matches("its key \\(ecdsa-sha2-nistp256 SHA256:\\S+\\) is revoked in \\S+/known_hosts \\S+/revoked");
        assertThat(server.commands()).isZero();
    }

    @Test
    void revokedKeyDoesNotAffectOtherKeys() throws Exception {
        var revoked = "@revoked * " + otherKey + "\n";

        assertReached(connectionWithKnownHosts(revoked + server.knownHostsLine()));
        assertRefused(connectionWithKnownHosts(revoked), ProblemCode.HOST_KEY_UNKNOWN);
        assertThat(new KeyFiles(null)
                        .knownHosts(List.of(fleet.writeKnownHosts(revoked)))
                        .getHostKey(server.keyName(), null))
                .as("what it is asked to show")
                .isEmpty();
    }

    @Test
    void addedKeyIsUsedAtTheNextAttempt() throws Exception {
        var connection = connectionWithKnownHosts("");
        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN);

        fleet.writeKnownHosts(server.knownHostsLine());
        fleet.advanceTime(Duration.ofSeconds(1));

        assertReached(connection);
    }

    @Test
    void removedKeyIsRefusedAtTheNextConnection() throws Exception {
        var connection = connectionWithKnownHosts(server.knownHostsLine());
        assertReached(connection);

        Files.move(
                fleet.writeFile("other", otherKey),
                directory.resolve("known_hosts"),
                StandardCopyOption.REPLACE_EXISTING);
        assertReached(connection);
        server.cutConnections();

        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN);
    }

    @Test
    void refusesRestartedServerWithAnotherKey() throws Exception {
        var connection = connectionWithKnownHosts(server.knownHostsLine());
        assertReached(connection);
        server.stop();
        server.newHostKey();
        server.start();

        assertRefused(connection, ProblemCode.HOST_KEY_CHANGED);
        fleet.advanceTime(Duration.ofMinutes(1));
        assertRefused(connection, ProblemCode.HOST_KEY_CHANGED).doesNotContain("next try");
    }

    @Test
    void missingOrInvalidFileMakesEveryKeyUnknown() throws Exception {
        var connection = connectionWithKnownHosts(server.knownHostsLine());
        Files.delete(directory.resolve("known_hosts"));
        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN);

        fleet.advanceTime(Duration.ofMinutes(1));
        fleet.writeKnownHosts(server.keyName() + " ecdsa-sha2-nistp256 %%%\n");
        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN).contains("known_hosts is not a valid known_hosts file");

        fleet.advanceTime(Duration.ofMinutes(1));
        fleet.writeKnownHosts(server.knownHostsLine());
        assertReached(connection);
    }

    private HostKeyRepository keysWithTrustedLineAnd(String trusted, String revoked) throws IOException {
        var line = trusted.formatted(server.keyName(), server.hostKey());
        return new KeyFiles(null).knownHosts(List.of(fleet.writeKnownHosts(line, revoked)));
    }

    private CommandConnection connectionWithKnownHosts(String known) throws IOException {
        return fleet.connect(fleet.access(known), server.target());
    }

    private static String hashed(String name) throws Exception {
        var salt = "12345678901234567890".getBytes(StandardCharsets.US_ASCII);
        var mac = Mac.getInstance("HmacSHA1");
        mac.init(new SecretKeySpec(salt, "HmacSHA1"));
        var hash = mac.doFinal(name.getBytes(StandardCharsets.US_ASCII));
        var base64 = Base64.getEncoder();
        return "|1|" + base64.encodeToString(salt) + "|" + base64.encodeToString(hash);
    }
}
