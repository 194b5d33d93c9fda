package dev.genv.enforcer.api.security;

import static java.util.Objects.requireNonNull;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.WatchedFile;
import io.quarkus.micrometer.runtime.export.handlers.PrometheusHandler;
import io.quarkus.tls.runtime.KeyStoreAndKeyCertOptions;
import io.quarkus.tls.runtime.KeyStoreProvider;
import io.quarkus.tls.runtime.TrustStoreAndTrustOptions;
import io.quarkus.tls.runtime.TrustStoreProvider;
import io.quarkus.vertx.http.HttpServerOptionsCustomizer;
import io.smallrye.common.annotation.Identifier;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.TrustOptions;
import io.vertx.ext.web.Router;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.Signature;
import java.security.SignatureException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;
import javax.net.ssl.X509KeyManager;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * TLS on the port of the API. Quarkus asks for the certificates at the start and in each period of reloading. It keeps the former ones
 * if there is an exception, and does not log it. It does not compare a certificate with its key either, so both are done here.
 */
@Singleton
@Identifier(ApiTls.NAME)
public class ApiTls implements KeyStoreProvider, TrustStoreProvider, HttpServerOptionsCustomizer {
    /** The name in Quarkus's registry. The management port would use certificates without a name too. */
    public static final String NAME = "api";

    private static final Logger LOG = Logger.getLogger(ApiTls.class);
    private static final String NO_ANSWER = "their file system does not answer";

    private final Optional<TlsFiles> files;
    /** A file system may not answer, and then no more than one thread waits for it. */
    private final Semaphore reading = new Semaphore(1);

    private volatile @Nullable Certificates used;
    /** The former reading. */
    private @Nullable Certificates latest;

    private String problem = "";
    /** How often in succession the files had this problem. */
    private int failures;

    ApiTls(Optional<TlsFiles> files) {
        this.files = files;
    }

    /** Reads all files, also those of the trust store, for which Quarkus asks directly after. */
    @Override
    public @Nullable KeyStoreAndKeyCertOptions getKeyStore(Vertx vertx) {
        if (files.isEmpty()) {
            return null;
        }
        if (!reading.tryAcquire()) {
            report(NO_ANSWER);
            throw new UnusableTlsFilesException(new IOException(NO_ANSWER));
        }
        try {
            var read = files.get().load(vertx);
            use(read);
            return requireNonNull(used).ofServer();
        } catch (IOException e) {
            report(String.valueOf(e.getMessage()));
            throw new UnusableTlsFilesException(e);
        } finally {
            reading.release();
        }
    }

    /** Uses what two readings have: a single one may have a part of a change. */
    private synchronized void use(Certificates read) {
        failures = 0;
        var before = used;
        var isSettled = latest != null && latest.hasContentOf(read);
        latest = read;
        if (before == null) {
            used = read;
        } else if (isSettled && !before.hasContentOf(read)) {
            used = read;
            LOG.info("The API uses the new TLS certificates");
        }
    }

    /** Logs a problem once, and only if two readings have it: those of a single one may be a part of a change. */
    private synchronized void report(String reason) {
        failures = reason.equals(problem) ? failures + 1 : 1;
        problem = reason;
        if (failures == 2) {
            LOG.errorf("The API keeps its former TLS certificates, because the files cannot be used: %s", reason);
        }
    }

    @Override
    public @Nullable TrustStoreAndTrustOptions getTrustStore(Vertx vertx) {
        var read = used;
        return read == null ? null : read.ofClientAuthorities();
    }

    @Override
    public void customizeHttpsServer(HttpServerOptions options) {
        var read = used;
        if (read != null && read.ofClientAuthorities() != null) {
            options.setClientAuth(ClientAuth.REQUIRED);
        }
    }

    /** Serves the metrics on this port too, because Prometheus sends the token, and the management port has no TLS. */
    void register(@Observes Router router) {
        if (files.isPresent()) {
            router.get("/q/metrics").blockingHandler(new PrometheusHandler(false, Optional.empty()), false);
        }
    }

    /** The PEM files. Clients need a certificate if the authorities that sign those are given. */
    public record TlsFiles(
            Path certificate, Path key, @Nullable Path clientAuthorities) {
        private static final int LARGEST = 1 << 20;
        private static final String CERTIFICATES = "certificates in PEM";

        /** Returns the content if it is valid. The message of an error names the file, and has nothing of its content. */
        private Certificates load(Vertx vertx) throws IOException {
            var chain = read(certificate);
            check(
                    certificate,
                    CERTIFICATES,
                    () -> new PemTrustOptions().addCertValue(chain).loadKeyStore(vertx));
            var pair = new PemKeyCertOptions().addCertValue(chain).addKeyValue(read(key));
            var expected =
                    "the RSA or EC key of the certificate in %s, in PEM and not encrypted".formatted(certificate);
            var server = new KeyStoreAndKeyCertOptions(check(key, expected, () -> keyStore(pair, vertx)), pair);
            if (clientAuthorities == null) {
                return new Certificates(server, null);
            }
            var trusted = new PemTrustOptions().addCertValue(read(clientAuthorities));
            return new Certificates(
                    server,
                    new TrustStoreAndTrustOptions(
                            check(clientAuthorities, CERTIFICATES, () -> trusted.loadKeyStore(vertx)), trusted));
        }

        private static Buffer read(Path file) throws IOException {
            try {
                return new WatchedFile<>(file, LARGEST, Buffer::buffer).current();
            } catch (IOException e) {
                throw new IOException("%s: %s".formatted(file, Errno.textOf(e)), e);
            }
        }

        /** Vert.x's parser throws exceptions of many types. */
        private static KeyStore check(Path file, String expected, Callable<KeyStore> parser) throws IOException {
            try {
                return parser.call();
            } catch (Exception e) {
                throw new IOException("%s: expected %s".formatted(file, expected), e);
            }
        }

        /** Fails also if the certificate does not verify what the key signs. */
        private static KeyStore keyStore(PemKeyCertOptions pair, Vertx vertx) throws Exception {
            var store = pair.loadKeyStore(vertx);
            var certificate = store.getCertificate(store.aliases().nextElement());
            var type = certificate.getPublicKey().getAlgorithm();
            var keys = (X509KeyManager) pair.getKeyManagerFactory(vertx).getKeyManagers()[0];
            var signature = Signature.getInstance(type.equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
            signature.initSign(keys.getPrivateKey(keys.getServerAliases(type, null)[0]));
            var signed = signature.sign();
            signature.initVerify(certificate);
            if (!signature.verify(signed)) {
                throw new SignatureException("the key is that of another certificate");
            }
            return store;
        }
    }

    private record Certificates(
            KeyStoreAndKeyCertOptions ofServer, @Nullable TrustStoreAndTrustOptions ofClientAuthorities) {
        private boolean hasContentOf(Certificates other) {
            return ofServer.options.equals(other.ofServer.options)
                    && Objects.equals(optionsOf(ofClientAuthorities), optionsOf(other.ofClientAuthorities));
        }

        private static @Nullable TrustOptions optionsOf(@Nullable TrustStoreAndTrustOptions store) {
            return store == null ? null : store.options;
        }
    }

    /** The reason why the service cannot start. */
    public static final class UnusableTlsFilesException extends RuntimeException {
        private static final long serialVersionUID = 1;

        UnusableTlsFilesException(IOException cause) {
            super(cause.getMessage(), cause);
        }
    }
}
