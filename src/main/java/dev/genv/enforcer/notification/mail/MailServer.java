package dev.genv.enforcer.notification.mail;

import dev.genv.enforcer.notification.SecretFile;
import java.util.Optional;

/**
 * The SMTP server that takes the mails.
 *
 * @param isTlsImplicit whether TLS begins with the connection (RFC 8314) and not with STARTTLS; only if TLS is used
 * @param login the user and the file with the password; empty to send without a login
 */
public record MailServer(String host, int port, Tls tls, boolean isTlsImplicit, Optional<Login> login) {

    private static final int SUBMISSIONS_PORT = 465;

    /** Creates a server. TLS begins with the connection on port 465 (RFC 8314). */
    public MailServer(String host, int port, Tls tls, Optional<Login> login) {
        this(host, port, tls, port == SUBMISSIONS_PORT, login);
    }

    /** A login. */
    public record Login(String user, SecretFile password) {}

    /** Whether a connection is encrypted. */
    public enum Tls {
        /** Always, and the certificate must be valid for the server's name. */
        REQUIRED,
        /** If the server offers it, without a check of the certificate. */
        OPPORTUNISTIC,
        /** Never. */
        NONE
    }
}
