package dev.genv.enforcer.notification;

import io.vertx.core.net.JksOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * A certificate that nobody has signed.
 *
 * @param store a key store with it
 */
record TestCertificate(Path store) {
    static final String PASSWORD = "changeit";

    static TestCertificate of(String host, Path folder) throws IOException, InterruptedException {
        var store = folder.resolve(host + ".p12");
        var command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-dname",
                "CN=test",
                "-ext",
                "SAN=dns:" + host,
                "-alias",
                "server",
                "-storetype",
                "PKCS12",
                "-storepass",
                PASSWORD,
                "-keystore",
                store.toString());
        var exitCode = new ProcessBuilder(command).inheritIO().start().waitFor();
        if (exitCode != 0) {
            throw new IOException("keytool ended with " + exitCode);
        }
        return new TestCertificate(store);
    }

    /** Options of a client that trusts it. */
    JksOptions trust() {
        return new JksOptions().setPath(store.toString()).setPassword(PASSWORD);
    }

    SSLContext server() throws IOException, GeneralSecurityException {
        var keys = KeyStore.getInstance("PKCS12");
        try (var in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD.toCharArray());
        var context = SSLContext.getInstance("TLS");
        context.init(factory.getKeyManagers(), null, null);
        return context;
    }
}
