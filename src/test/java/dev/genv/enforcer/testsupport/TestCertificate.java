package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.testsupport.linux.Programs;
import io.vertx.core.net.JksOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A certificate that nobody has signed, so it is its own authority.
 *
 * @param store a key store with it
 */
public record TestCertificate(Path store) {
    private static final String PASSWORD = "changeit";
    private static final String ALIAS = "server";

    public static TestCertificate of(String host, Path folder) throws IOException {
        var store = folder.resolve(host + ".p12");
        Programs.run(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-dname",
                "CN=test",
                "-ext",
                "SAN=dns:" + host,
                "-alias",
                ALIAS,
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD,
                "-keystore",
                store.toString());
        return new TestCertificate(store);
    }

    /** Options of a client that trusts it. */
    public JksOptions trustOptions() {
        return new JksOptions().setPath(store.toString()).setPassword(PASSWORD);
    }

    /** Returns the context of a server or a client with this certificate, which trusts no other one. */
    public SSLContext context() throws IOException, GeneralSecurityException {
        return context(this);
    }

    /** The same of a client that trusts another certificate. */
    public SSLContext context(TestCertificate trusted) throws IOException, GeneralSecurityException {
        var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(load(), PASSWORD.toCharArray());
        return trusted.contextOfClient(keys.getKeyManagers());
    }

    /** Returns the context of a client that trusts this certificate, with these keys of its own. */
    public SSLContext contextOfClient(KeyManager... keys) throws IOException, GeneralSecurityException {
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(load());
        var context = SSLContext.getInstance("TLS");
        context.init(keys, trust.getTrustManagers(), null);
        return context;
    }

    /** Returns it as PEM. */
    public String pem() throws IOException, GeneralSecurityException {
        return pem("CERTIFICATE", load().getCertificate(ALIAS).getEncoded());
    }

    /** Returns its key as PEM. */
    public String keyPem() throws IOException, GeneralSecurityException {
        return pem("PRIVATE KEY", load().getKey(ALIAS, PASSWORD.toCharArray()).getEncoded());
    }

    private static String pem(String label, byte[] content) {
        var base64 = Base64.getMimeEncoder().encodeToString(content);
        return "-----BEGIN %1$s-----\n%2$s\n-----END %1$s-----\n".formatted(label, base64);
    }

    private KeyStore load() throws IOException, GeneralSecurityException {
        var keys = KeyStore.getInstance("PKCS12");
        try (var in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        return keys;
    }
}
