package dev.genv.enforcer.notification;

import dev.genv.enforcer.notification.Addresses.MailAddress;
import dev.genv.enforcer.notification.Delivery.Reply;
import dev.genv.enforcer.notification.Delivery.ReplyKind;
import io.vertx.core.AbstractVerticle;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.ext.mail.LoginOption;
import io.vertx.ext.mail.MailClient;
import io.vertx.ext.mail.MailConfig;
import io.vertx.ext.mail.MailMessage;
import io.vertx.ext.mail.SMTPException;
import io.vertx.ext.mail.StartTLSOptions;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * Sends one mail at a time, each over its own connection, so that a server that does not answer keeps none.
 *
 * @param timeout the longest time for a mail
 * @param adaptation sets other trusted certificates in tests
 */
public record MailSender(
        Vertx vertx, MailServer server, Envelope envelope, Duration timeout, UnaryOperator<MailConfig> adaptation) {
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    /** Replies of RFC 4954 that concern the login, and no mail. An administrator can correct the password while mails wait. */
    private static final Set<Integer> LOGIN_REFUSED = Set.of(530, 534, 535, 538);

    /** What all mails have in common: the sender, and who also gets each mail. */
    public record Envelope(String from, Optional<String> copyTo) {}

    public MailSender(Vertx vertx, MailServer server, Envelope envelope, Duration timeout) {
        this(vertx, server, envelope, timeout, UnaryOperator.identity());
    }

    /**
     * Sends a mail, and waits until the server has accepted it. An attempt is a verticle, because Vert.x closes the connections of a verticle
     * when it is undeployed. The mail client itself closes a connection only after the server has answered QUIT.
     */
    Reply send(OutgoingMail mail) throws InterruptedException {
        MailConfig config;
        try {
            config = adaptation.apply(config());
        } catch (IOException e) {
            return Reply.failed("the password of the mail server is unknown: " + e.getMessage());
        }
        Promise<Reply> reply = Promise.promise();
        var deployment = vertx.deployVerticle(new AbstractVerticle() {
            @Override
            public void start() {
                MailClient.create(vertx, config)
                        .sendMail(message(mail))
                        .onSuccess(_ -> reply.tryComplete(Reply.ACCEPTED))
                        .onFailure(reply::tryFail);
            }
        });
        try {
            return Reply.await(
                    deployment.compose(_ -> reply.future()), "the mail server", timeout, MailSender::failure);
        } finally {
            deployment.onSuccess(vertx::undeploy);
        }
    }

    private static Reply failure(Throwable cause) {
        var text = Reply.escape(cause.getMessage());
        if (cause instanceof SMTPException refusal) {
            var kind = isPermanent(refusal) ? ReplyKind.REFUSED : ReplyKind.FAILED;
            return new Reply(kind, "the mail server answered: " + text);
        }
        return Reply.failed("the mail server cannot be used: " + text);
    }

    private static boolean isPermanent(SMTPException refusal) {
        return refusal.isPermanent() && !LOGIN_REFUSED.contains(refusal.getReplyCode());
    }

    private MailMessage message(OutgoingMail mail) {
        var domain = MailAddress.domainOf(envelope.from());
        var message = new MailMessage()
                .setFrom(envelope.from())
                .setTo(mail.to())
                .setSubject(mail.subject())
                .setText(mail.text())
                .addHeader("Message-ID", "<%s@%s>".formatted(mail.id(), domain))
                .addHeader("List-Id", "<genv-enforcer.%s>".formatted(domain))
                // No vacation notice answers such a mail (RFC 3834).
                .addHeader("Auto-Submitted", "auto-generated");
        envelope.copyTo().map(List::of).ifPresent(message::setCc);
        return message;
    }

    private MailConfig config() throws IOException {
        var tls = server.tls();
        var config = new MailConfig(server.host(), server.port())
                .setStarttls(
                        switch (tls) {
                            case REQUIRED -> StartTLSOptions.REQUIRED;
                            case OPPORTUNISTIC -> StartTLSOptions.OPTIONAL;
                            case NONE -> StartTLSOptions.DISABLED;
                        })
                .setOwnHostname(MailAddress.domainOf(envelope.from()))
                .setKeepAlive(false)
                .setConnectTimeout((int) CONNECT_TIMEOUT.toMillis())
                .setIdleTimeoutUnit(TimeUnit.MILLISECONDS)
                .setIdleTimeout((int) timeout.toMillis());
        if (tls != MailServer.Tls.NONE && server.isTlsImplicit()) {
            config.setSsl(true).setStarttls(StartTLSOptions.DISABLED);
        }
        // The client checks the name of the server only if no algorithm for that is set, and certificates are checked.
        config.setTrustAll(tls != MailServer.Tls.REQUIRED);
        if (server.login().isEmpty()) {
            return config.setLogin(LoginOption.DISABLED);
        }
        var login = server.login().get();
        return config.setLogin(LoginOption.REQUIRED)
                .setAuthMethods("PLAIN LOGIN CRAM-MD5")
                .setUsername(login.user())
                .setPassword(login.password().read());
    }

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

    /**
     * A mail to one user.
     *
     * @param id the local part of its Message-ID, which stays the same for each attempt
     * @param oldest when the first of its notices was recorded
     */
    record OutgoingMail(String to, String subject, String text, String id, Instant oldest) {}
}
