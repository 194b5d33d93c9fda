package dev.genv.enforcer.api.security;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.security.ApiTls.TlsFiles;
import dev.genv.enforcer.api.security.ApiTls.UnusableTlsFilesException;
import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.TestCertificate;
import dev.genv.enforcer.testsupport.linux.Programs;
import io.vertx.core.Vertx;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.ProviderMismatchException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ApiTlsTest {
    private static final Vertx VERTX = Vertx.vertx();

    @TempDir
    static Path folder;

    private static TestCertificate first;
    private static TestCertificate second;

    @BeforeAll
    static void writeFiles() throws Exception {
        first = TestCertificate.of("first", folder);
        second = TestCertificate.of("second", folder);
        Files.writeString(folder.resolve("first.crt"), first.pem());
        Files.writeString(folder.resolve("first.key"), first.keyPem());
        Files.writeString(folder.resolve("second.key"), second.keyPem());
        openssl("rsa", "-newkey", "rsa:2048", "-nodes");
        openssl("ec", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-nodes");
        openssl("ed25519", "-newkey", "ed25519", "-nodes");
        openssl("encrypted", "-newkey", "rsa:2048", "-passout", "pass:sesame");
        Programs.run("openssl", "rsa", "-traditional", "-in", folder + "/rsa.key", "-out", folder + "/traditional.key");
        Files.createDirectory(folder.resolve("folder"));
    }

    private static void openssl(String name, String... key) throws IOException {
        var file = folder.resolve(name).toString();
        Programs.run(Stream.of(
                        Stream.of("openssl", "req", "-x509", "-subj", "/CN=" + name),
                        Stream.of(key),
                        Stream.of("-keyout", file + ".key", "-out", file + ".crt"))
                .flatMap(Function.identity())
                .toList());
    }

    @AfterAll
    static void stop() {
        VERTX.close();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        first.crt  | first.key  |            |
        first.crt  | first.key  | first.crt  |
        second.key | first.key  |            | second.key: expected certificates in PEM
        first.crt  | first.crt  |            | first.crt: expected the RSA or EC key of the certificate in
        first.crt  | second.key |            | second.key: expected the RSA or EC key of the certificate in
        rsa.crt    | rsa.key    |            |
        rsa.crt    | traditional.key |       |
        ec.crt     | ec.key     | rsa.crt    |
        ec.crt     | first.key  |            | first.key: expected the RSA or EC key of the certificate in
        ed25519.crt | ed25519.key |          | ed25519.key: expected the RSA or EC key of the certificate in
        encrypted.crt | encrypted.key |      | encrypted.key: expected the RSA or EC key of the certificate in
        rsa.crt    | first.key  |            | first.key: expected the RSA or EC key of the certificate in
        first.crt  | rsa.key    |            | rsa.key: expected the RSA or EC key of the certificate in
        first.crt  | first.key  | second.key | second.key: expected certificates in PEM
        missing    | first.key  |            | missing: No such file or directory
        first.crt  | folder     |            | folder:
        """)
    void acceptsOnlyFilesThatBelongTogether(
            String certificate, String key, @Nullable String authority, @Nullable String error) {
        var tls = new ApiTls(Optional.of(new TlsFiles(
                folder.resolve(certificate),
                folder.resolve(key),
                authority == null ? null : folder.resolve(authority))));
        if (error == null) {
            assertThat(tls.getKeyStore(VERTX)).isNotNull();
            assertThat(tls.getTrustStore(VERTX) != null).isEqualTo(authority != null);
        } else {
            assertThatThrownBy(() -> tls.getKeyStore(VERTX))
                    .isInstanceOf(UnusableTlsFilesException.class)
                    .hasMessageStartingWith(folder + "/" + error);
        }
    }

    /** Quarkus would take a certificate without its key, and logs no failure. */
    @Test
    void changedFilesAreUsedWhenTheyAreCompleteAndValid() throws Exception {
        var certificate = Files.writeString(folder.resolve("tls.crt"), first.pem());
        var key = Files.writeString(folder.resolve("tls.key"), first.keyPem());
        var tls = new ApiTls(Optional.of(new TlsFiles(certificate, key, null)));
        assertThat(used(tls)).isEqualTo(first.pem());

        try (var log = LogRecords.of(ApiTls.class.getName())) {
            assertThat(used(tls)).isEqualTo(first.pem());
            Files.writeString(certificate, second.pem());
            assertThat(used(tls)).as("the key has not followed").isNull();
            assertThat(log.lines()).as("a part of a change").isEmpty();
            assertThat(used(tls)).isNull();
            assertThat(used(tls)).isNull();
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .contains("The API keeps its former TLS certificates")
                    .contains(key + ": expected the RSA or EC key of the certificate in " + certificate);
            Files.writeString(key, second.keyPem());
            assertThat(used(tls)).as("a single reading").isEqualTo(first.pem());
            assertThat(used(tls)).isEqualTo(second.pem());
            assertThat(log.lines().getLast()).contains("The API uses the new TLS certificates");
            assertThat(used(tls)).isEqualTo(second.pem());
            for (var i = 0; i < 2; i++) {
                Files.delete(key);
                assertThat(used(tls)).isNull();
                assertThat(used(tls)).isNull();
                Files.writeString(key, second.keyPem());
                assertThat(used(tls)).isEqualTo(second.pem());
            }
            assertThat(log.lines().subList(2, log.lines().size()))
                    .hasSize(2)
                    .allMatch(line -> line.endsWith(key + ": No such file or directory"));
        }
    }

    /** Returns the certificate that Quarkus uses after it has asked for one; null if it keeps the former one. */
    private static @Nullable String used(ApiTls tls) {
        try {
            var options = (PemKeyCertOptions) Objects.requireNonNull(tls.getKeyStore(VERTX)).options;
            return options.getCertValue().toString();
        } catch (UnusableTlsFilesException e) {
            return null;
        }
    }

    /** Quarkus asks every two seconds, each time on another thread. */
    @Test
    void onlyOneThreadWaitsForFilesThatDoNotAnswer() throws Exception {
        var isAsked = new CountDownLatch(1);
        var answers = new CountDownLatch(1);
        InvocationHandler hanging = (_, _, _) -> {
            isAsked.countDown();
            answers.await();
            throw new ProviderMismatchException("of a file system that answered late");
        };
        var certificate =
                (Path) Proxy.newProxyInstance(Path.class.getClassLoader(), new Class<?>[] {Path.class}, hanging);
        var tls = new ApiTls(Optional.of(new TlsFiles(certificate, folder.resolve("first.key"), null)));
        var waiting = new FutureTask<>(() -> tls.getKeyStore(VERTX));
        Thread.ofPlatform().daemon().start(waiting);
        assertThat(isAsked.await(HANG.toSeconds(), TimeUnit.SECONDS)).isTrue();

        assertThatThrownBy(() -> tls.getKeyStore(VERTX)).hasMessage("their file system does not answer");

        answers.countDown();
        assertThatThrownBy(() -> waiting.get(HANG.toSeconds(), TimeUnit.SECONDS))
                .hasCauseInstanceOf(ProviderMismatchException.class);
        assertThatThrownBy(() -> tls.getKeyStore(VERTX)).isInstanceOf(ProviderMismatchException.class);
    }
}
