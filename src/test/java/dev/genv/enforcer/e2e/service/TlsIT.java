package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.TestCertificate;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.GeneralSecurityException;
import java.util.concurrent.Callable;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packaged program with TLS on the port of the API. */
class TlsIT extends NodeSuite {
    @TempDir
    static Path certificates;

    private static TestCertificate first;
    private static TestCertificate second;

    @BeforeAll
    static void createCertificates() throws IOException {
        first = TestCertificate.of("first", certificates);
        second = TestCertificate.of("second", certificates);
    }

    /** As on the port without TLS, but nothing can be had there without TLS. */
    @Test
    void portOfTheApiHasOnlyTlsTheSameFiltersAndAReplacedCertificateUnlessItIsInvalid() throws Exception {
        var token = Files.writeString(directory.resolve("token"), "secret\n");
        var service = node.setCertificate(first).set("API_TOKEN_FILE", token).startService();
        var https = new RawHttp(service.port(), first.context().getSocketFactory());
        var authorization = "Authorization: Bearer secret";

        assertThat(https.get("/hosts", authorization).status()).isEqualTo(200);
        assertThat(https.get("/hosts").status()).isEqualTo(401);
        assertThat(https.send("GET /hosts HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                        .status())
                .isEqualTo(421);
        assertThat(https.get("/hosts", authorization, "Origin: https://evil.example")
                        .status())
                .isEqualTo(403);
        assertThat(https.get("/q/metrics").status()).isEqualTo(401);
        assertThat(https.get("/q/metrics", authorization).text()).contains("\ngenv_enforcer_");
        assertThat(new RawHttp(service.port()).get("/hosts", authorization).status())
                .isZero();
        assertThat(new RawHttp(service.managementPort()).get("/q/health/live").status())
                .isEqualTo(200);
        var authorized = "GET /hosts HTTP/1.1\r\nHost: localhost\r\n" + authorization + "\r\n\r\n";
        assertThat(https.send(authorized.repeat(100)).status())
                .as("too many requests at once")
                .isZero();

        Files.writeString(directory.resolve("tls.crt"), "no certificate");
        await().until(() -> Files.readString(service.out()).contains("tls.crt: expected certificates in PEM"));
        assertThat(https.get("/hosts", authorization).status()).isEqualTo(200);
        node.setCertificate(first);
        Files.writeString(directory.resolve("tls.key"), second.keyPem());
        await().until(() -> Files.readString(service.out()).contains("tls.key: expected the RSA or EC key"));
        assertThat(https.get("/hosts", authorization).status())
                .as("with the former pair, because the key is of another certificate")
                .isEqualTo(200);
        node.setCertificate(second);
        var replaced = new RawHttp(service.port(), second.context().getSocketFactory());
        awaitOnEachEventLoop(() -> replaced.get("/hosts", authorization).status() == 200);
    }

    /** Kubernetes writes a renewed secret to a new folder, and replaces a link to the folder. */
    @Test
    void renewedSecretOfKubernetesIsUsedWithoutARestart() throws Exception {
        writeSecret("..1", first);
        var link = Files.createSymbolicLink(directory.resolve("..data"), Path.of("..1"));
        var certificate = Files.createSymbolicLink(directory.resolve("cert.pem"), Path.of("..data/tls.crt"));
        var key = Files.createSymbolicLink(directory.resolve("key.pem"), Path.of("..data/tls.key"));
        var service = node.set("TLS_CERTIFICATE_FILE", certificate)
                .set("TLS_KEY_FILE", key)
                .startService();
        var former = new RawHttp(service.port(), first.context().getSocketFactory());
        assertThat(former.get("/hosts").status()).isEqualTo(200);

        writeSecret("..2", second);
        Files.move(
                Files.createSymbolicLink(directory.resolve("..tmp"), Path.of("..2")),
                link,
                StandardCopyOption.ATOMIC_MOVE);

        var renewed = new RawHttp(service.port(), second.context().getSocketFactory());
        awaitOnEachEventLoop(() -> renewed.get("/hosts").status() == 200);
        assertThat(Files.readString(service.out()))
                .containsOnlyOnce("The API uses the new TLS certificates")
                .doesNotContain("cannot be used");
    }

    private void writeSecret(String folder, TestCertificate content) throws Exception {
        var secret = Files.createDirectory(directory.resolve(folder));
        Files.writeString(secret.resolve("tls.crt"), content.pem());
        Files.writeString(secret.resolve("tls.key"), content.keyPem());
    }

    @Test
    void doesNotStartWithACertificateThatCannotBeUsed() throws Exception {
        node.setCertificate(first).set("INTERVAL", "1s");
        var certificate = Files.writeString(directory.resolve("tls.crt"), "no certificate");

        var output = node.run();

        assertThat(output.log())
                .containsExactly("genv-enforcer cannot start: %s: expected certificates in PEM".formatted(certificate));
        assertThat(output.exitCode()).isEqualTo(2);
    }

    /** Waits until many successive connections have this result. A certificate that the client does not trust is another one. */
    private static void awaitOnEachEventLoop(Callable<Boolean> result) {
        await().ignoreExceptionsInstanceOf(SSLHandshakeException.class).until(() -> {
            for (var i = 0; i < 20; i++) {
                if (!result.call()) {
                    return false;
                }
            }
            return true;
        });
    }

    @Test
    void requiresACertificateOfTheClientIfItsAuthorityIsSet() throws Exception {
        var authority = Files.writeString(directory.resolve("ca.crt"), second.pem());
        var service =
                node.setCertificate(first).set("TLS_CLIENT_CA_FILE", authority).startService();

        assertThat(status(service.port(), second, first)).isEqualTo(200);
        assertThat(status(service.port(), first, first))
                .as("of another authority")
                .isZero();
        var anonymous = new RawHttp(service.port(), first.contextOfClient().getSocketFactory());
        assertThat(anonymous.get("/hosts").status()).as("without a certificate").isZero();
        Files.writeString(authority, first.pem());
        awaitOnEachEventLoop(() -> status(service.port(), first, first) == 200);
        assertThat(status(service.port(), second, first)).isZero();
    }

    private static int status(int port, TestCertificate client, TestCertificate server)
            throws IOException, GeneralSecurityException {
        return new RawHttp(port, client.context(server).getSocketFactory())
                .get("/hosts")
                .status();
    }
}
