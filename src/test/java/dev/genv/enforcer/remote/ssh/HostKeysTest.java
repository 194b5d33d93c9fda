package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The trusted keys of servers. */
class HostKeysTest extends ServerTest {
    private static final String ED25519 =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    private String otherKey;

    @BeforeEach
    void prepare() throws IOException {
        otherKey = server("127.0.0.3").hostKey();
    }

    @Test
    void namesTheRemedyForAnUnknownAndAChangedKey() throws Exception {
        assertRefused(connectionWithKnownHosts("# nobody\n"), ProblemCode.HOST_KEY_UNKNOWN)
                .matches("its key \\(ecdsa-sha2-nistp256 SHA256:\\S+\\) is not in \\S+/known_hosts: .*")
                .endsWith("add the line of ssh-keyscan -p %d 127.0.0.2".formatted(server.port()));
        assertThat(Files.readString(directory.resolve("known_hosts"))).isEqualTo("# nobody\n");
        assertRefused(connectionWithKnownHosts(server.keyName() + " " + otherKey + "\n"), ProblemCode.HOST_KEY_CHANGED)
                .contains("is not the one in ", "for " + server.keyName(), "SHA256:", "another machine may intercept");
        assertThat(server.commands()).isZero();
    }

    /** KEY is the server's key, OTHER another one, NAME its name and NEXT that of another port; a hash follows #. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[127.0.0.3]:PORT KEY | HOST_KEY_UNKNOWN",
                "NEXT KEY | HOST_KEY_UNKNOWN",
                "NAME ED25519 | HOST_KEY_CHANGED",
                "NAME ED25519; NAME OTHER; NAME KEY |",
                "127.0.0.9,127.0.0.2 KEY somebody's comment |",
                "#elsewhere OTHER; #NAME KEY |",
                "#NAME OTHER | HOST_KEY_CHANGED",
                "#elsewhere KEY | HOST_KEY_UNKNOWN",
                "@revoked NAME KEY | HOST_KEY_CHANGED",
                "NAME KEY; @revoked NAME KEY | HOST_KEY_CHANGED",
                "@revoked * KEY; NAME KEY | HOST_KEY_CHANGED",
                "NAME KEY; @revoked elsewhere KEY | HOST_KEY_CHANGED",
                "NAME KEY; @revoked %1%AAAA%BBBB KEY | HOST_KEY_CHANGED",
                "@revoked * OTHER; NAME KEY |",
                "@revoked * OTHER | HOST_KEY_UNKNOWN",
            })
    void comparesTheKeyWithTheFile(String known, @Nullable ProblemCode refused) throws Exception {
        var lines = known.replace("NAME", server.keyName())
                .replace("NEXT", "[127.0.0.2]:" + (server.port() + 1))
                .replace("PORT", Integer.toString(server.port()))
                .replace("ED25519", ED25519)
                .replace("OTHER", otherKey)
                .replace("KEY", server.hostKey())
                .replace("; ", "\n")
                .replace("%", "|");
        for (var name : List.of("elsewhere", server.keyName())) {
            lines = lines.replace("#" + name, hashed(name));
        }
        var access = connectionWithKnownHosts(lines + "\n");
        if (refused == null) {
            assertReached(access);
        } else if (known.contains("@revoked * OTHER") || !known.contains("@revoked")) {
            assertRefused(access, refused);
        } else {
            assertRefused(access, refused).contains("is revoked in ");
        }
    }

    @Test
    void refusesKeyThatAnotherFileRevokes() throws Exception {
        var revoking = writeFile("revoked", "@revoked * " + server.hostKey() + "\n");
        var config = "IdentityFile %s\nHost 127.0.0.2\nUserKnownHostsFile %s %s"
                .formatted(key.file(), directory.resolve("known_hosts"), revoking);

        assertRefused(
                        connect(accessWithConfig(config, "root", server.knownHostsLine()), server.target()),
                        ProblemCode.HOST_KEY_CHANGED)
                .matches("its key \\(ecdsa-sha2-nistp256 SHA256:\\S+\\) is revoked in \\S+/known_hosts \\S+/revoked");
        assertThat(server.commands()).isZero();
    }

    @Test
    void fileIsReadForEachConnection() throws Exception {
        var connection = connectionWithKnownHosts("");
        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN);
        writeKnownHosts(server.knownHostsLine());
        advanceTime(Duration.ofSeconds(1));
        assertReached(connection);

        writeKnownHosts(server.keyName() + " ecdsa-sha2-nistp256 %%%\n");
        assertReached(connection);
        server.cutConnections();
        assertRefused(connection, ProblemCode.HOST_KEY_UNKNOWN).contains("known_hosts is not a valid known_hosts file");

        Files.delete(directory.resolve("known_hosts"));
        advanceTime(Duration.ofMinutes(1));
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
        advanceTime(Duration.ofMinutes(1));
        assertRefused(connection, ProblemCode.HOST_KEY_CHANGED).doesNotContain("next try");
    }

    private Connection connectionWithKnownHosts(String known) throws IOException {
        return connect(access(known), server.target());
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
