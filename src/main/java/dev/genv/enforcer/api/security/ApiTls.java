package dev.genv.enforcer.api.security;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.WatchedFile;
import io.quarkus.micrometer.runtime.export.handlers.PrometheusHandler;
import io.quarkus.runtime.StartupEvent;
import io.quarkus.tls.CertificateUpdatedEvent;
import io.quarkus.tls.TlsConfigurationRegistry;
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
import io.vertx.core.net.impl.KeyStoreHelper;
import io.vertx.ext.web.Router;
import jakarta.enterprise.event.Event;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.SignatureException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * TLS on the port of the API. Quarkus asks for the certificates at the start and after each change. Its own watch of files would log
 * a change every time, and ignore files that it cannot use. So a thread of this class watches them.
 */
@Singleton
@Identifier(ApiTls.NAME)
public class ApiTls implements KeyStoreProvider, TrustStoreProvider, HttpServerOptionsCustomizer {
    /** The name in Quarkus's registry. The management port would use certificates without a name too. */
    public static final String NAME = "api";

    private static final Logger LOG = Logger.getLogger(ApiTls.class);
    private static final Duration PAUSE = Duration.ofSeconds(2);

    private final Optional<TlsFiles> files;
    private volatile Optional<Certificates> certificates;
    /** From which the certificates were loaded. */
    private @Nullable Contents used;

    private @Nullable Contents latest;
    private String problem = "";

    /** Reads the files. The settings have not checked their content, because Quarkus has to configure Netty first. */
    ApiTls(Optional<TlsFiles> files) {
        this.files = files;
        try {
            used = files.isPresent() ? files.get().read() : null;
            certificates = used == null
                    ? Optional.empty()
                    : Optional.of(files.orElseThrow().load(used));
        } catch (IOException e) {
            throw new UnusableTlsFilesException(e);
        }
    }

    @Override
    public @Nullable KeyStoreAndKeyCertOptions getKeyStore(Vertx vertx) {
        return certificates.map(Certificates::ofServer).orElse(null);
    }

    @Override
    public @Nullable TrustStoreAndTrustOptions getTrustStore(Vertx vertx) {
        return certificates.map(Certificates::ofClientAuthorities).orElse(null);
    }

    @Override
    public void customizeHttpsServer(HttpServerOptions options) {
        if (certificates.map(Certificates::ofClientAuthorities).isPresent()) {
            options.setClientAuth(ClientAuth.REQUIRED);
        }
    }

    /** Serves the metrics on this port too, because Prometheus sends the token, and the management port has no TLS. */
    void register(@Observes Router router) {
        if (files.isPresent()) {
            router.get("/q/metrics").blockingHandler(new PrometheusHandler(false, Optional.empty()), false);
        }
    }

    void start(
            @Observes StartupEvent event, TlsConfigurationRegistry registry, Event<CertificateUpdatedEvent> listeners) {
        files.ifPresent(watched -> WatchedFile.watch("tls-files", PAUSE, () -> {
            var tls = registry.get(NAME).orElseThrow();
            if (refresh(watched)) {
                if (tls.reload()) {
                    listeners.fire(new CertificateUpdatedEvent(NAME, tls));
                } else {
                    LOG.error("The API keeps its former TLS certificates, because the new ones cannot be loaded");
                }
            }
        }));
    }

    /**
     * Reads the files once, and returns whether there are other certificates now. Those of a single reading may be a part of a change.
     * Files that cannot be used change nothing.
     */
    boolean refresh(TlsFiles watched) {
        try {
            var read = watched.read();
            var isSettled = read.equals(latest);
            var isChanged = isSettled && !read.equals(used);
            latest = read;
            if (isChanged) {
                certificates = Optional.of(watched.load(read));
                used = read;
            }
            problem = isSettled ? "" : problem;
            return isChanged;
        } catch (IOException e) {
            var reason = String.valueOf(e.getMessage());
            if (!reason.equals(problem)) {
                LOG.errorf("The API keeps its former TLS certificates, because the files cannot be used: %s", reason);
            }
            problem = reason;
            return false;
        }
    }

    /** The PEM files. Their content may change, for example when Kubernetes renews a secret. */
    public static final class TlsFiles {
        private final PemFile certificate;
        private final PemFile key;
        private final @Nullable PemFile authorities;

        /** Clients need a certificate if the authorities that sign those are given. */
        public TlsFiles(Path certificate, Path key, @Nullable Path clientAuthorities) {
            this.certificate = new PemFile(certificate);
            this.key = new PemFile(key);
            this.authorities = clientAuthorities == null ? null : new PemFile(clientAuthorities);
        }

        private Contents read() throws IOException {
            return new Contents(certificate.read(), key.read(), authorities == null ? null : authorities.read());
        }

        /** Returns what was read if it is valid. The message of an error names the file, and has nothing of its content. */
        private Certificates load(Contents read) throws IOException {
            certificate.load("certificates in PEM", () -> KeyStoreHelper.loadCA(Stream.of(read.chain)));
            var clients = authorities == null || read.authorities == null
                    ? null
                    : new TrustStoreAndTrustOptions(
                            authorities.load(
                                    "certificates in PEM", () -> KeyStoreHelper.loadCA(Stream.of(read.authorities))),
                            new PemTrustOptions().addCertValue(read.authorities));
            var expected =
                    "the RSA or EC key of the certificate in %s, in PEM and not encrypted".formatted(certificate.path);
            var server = new KeyStoreAndKeyCertOptions(
                    key.load(expected, read::serverStore),
                    new PemKeyCertOptions().addCertValue(read.chain).addKeyValue(read.key));
            return new Certificates(server, clients);
        }
    }

    private record Certificates(
            KeyStoreAndKeyCertOptions ofServer, @Nullable TrustStoreAndTrustOptions ofClientAuthorities) {}

    /** The reason why the service cannot start. */
    public static final class UnusableTlsFilesException extends RuntimeException {
        private static final long serialVersionUID = 1;

        UnusableTlsFilesException(IOException cause) {
            super(cause.getMessage(), cause);
        }
    }

    private record PemFile(Path path, WatchedFile<Buffer> content) {
        private static final int LARGEST = 1 << 20;

        PemFile(Path path) {
            this(path, new WatchedFile<>(path, LARGEST, Buffer::buffer));
        }

        Buffer read() throws IOException {
            try {
                return content.current();
            } catch (IOException e) {
                throw new IOException("%s: %s".formatted(path, Errno.textOf(e)), e);
            }
        }

        /** Vert.x's parser throws exceptions of many types. */
        KeyStore load(String expected, Callable<KeyStore> parser) throws IOException {
            try {
                return parser.call();
            } catch (Exception e) {
                throw new IOException("%s: expected %s".formatted(path, expected), e);
            }
        }
    }

    /** The contents of the PEM files. */
    private record Contents(
            Buffer chain, Buffer key, @Nullable Buffer authorities) {
        /** Fails also if the certificate does not verify what the key signs. */
        KeyStore serverStore() throws Exception {
            var store = KeyStoreHelper.loadKeyCert(List.of(key), List.of(chain));
            var alias = store.aliases().nextElement();
            var signing = (PrivateKey) store.getKey(alias, KeyStoreHelper.DUMMY_PASSWORD.toCharArray());
            var signature =
                    Signature.getInstance(signing.getAlgorithm().equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
            signature.initSign(signing);
            var signed = signature.sign();
            signature.initVerify(store.getCertificate(alias).getPublicKey());
            if (!signature.verify(signed)) {
                throw new SignatureException("the key is that of another certificate");
            }
            return store;
        }
    }
}
