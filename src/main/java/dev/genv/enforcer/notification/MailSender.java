package dev.genv.enforcer.notification;

import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.Addresses.MailAddress;
import io.vertx.core.AbstractVerticle;
import io.vertx.core.Future;
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
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
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
    private static final int LONGEST_REASON = 200;
    /** Replies of RFC 4954 that concern the login, and no mail. An administrator can correct the password while mails wait. */
    private static final Set<Integer> LOGIN_REFUSED = Set.of(530, 534, 535, 538);

    /** What all mails have in common: the sender, and who also gets each mail. */
    public record Envelope(String from, Optional<String> copyTo) {}

    public MailSender(Vertx vertx, MailServer server, Envelope envelope, Duration timeout) {
        this(vertx, server, envelope, timeout, UnaryOperator.identity());
    }

    /** Sends a mail, and waits until the server has accepted it. */
    void send(OutgoingMail mail) throws MailException, InterruptedException {
        var config = adaptation.apply(config());
        var attempt = new MailAttempt(config, message(mail));
        var deployment = vertx.deployVerticle(attempt);
        try {
            deployment
                    .compose(_ -> attempt.result())
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            throw new MailException("the mail server did not answer within %d s".formatted(timeout.toSeconds()), false);
        } catch (ExecutionException e) {
            throw failure(Objects.requireNonNullElse(e.getCause(), e));
        } finally {
            deployment.onSuccess(vertx::undeploy);
        }
    }

    private static MailException failure(Throwable cause) {
        var text = SafeText.escape(String.valueOf(cause.getMessage()), LONGEST_REASON);
        return cause instanceof SMTPException refusal
                ? new MailException("the mail server answered: " + text, isPermanent(refusal))
                : new MailException("the mail server cannot be used: " + text, false);
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

    private MailConfig config() throws MailException {
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
        return withLogin(config);
    }

    private MailConfig withLogin(MailConfig config) throws MailException {
        if (server.login().isEmpty()) {
            return config.setLogin(LoginOption.DISABLED);
        }
        var login = server.login().get();
        try {
            return config.setLogin(LoginOption.REQUIRED)
                    .setAuthMethods("PLAIN LOGIN CRAM-MD5")
                    .setUsername(login.user())
                    .setPassword(login.password().read());
        } catch (IOException e) {
            throw new MailException("the password of the mail server is unknown: " + e.getMessage(), false);
        }
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

    /**
     * One attempt to send a mail. It is a verticle, because Vert.x closes the connections of a verticle when it is undeployed. The mail client
     * itself closes a connection only after the server has answered QUIT.
     */
    static final class MailAttempt extends AbstractVerticle {
        private final MailConfig config;
        private final MailMessage message;
        private final Promise<Void> result = Promise.promise();

        MailAttempt(MailConfig config, MailMessage message) {
            this.config = config;
            this.message = message;
        }

        /** Completes when the server has accepted the mail, or fails. */
        Future<Void> result() {
            return result.future();
        }

        @Override
        public void start() {
            MailClient.create(vertx, config)
                    .sendMail(message)
                    .onSuccess(_ -> result.tryComplete())
                    .onFailure(result::tryFail);
        }
    }

    /** A mail was not accepted. */
    static final class MailException extends Exception {
        private static final long serialVersionUID = 1L;

        /** Whether the server refuses the mail permanently. */
        private final boolean permanent;

        MailException(String message, boolean permanent) {
            super(message);
            this.permanent = permanent;
        }

        boolean isPermanent() {
            return permanent;
        }

        /** The reason as a clause. */
        String reason() {
            return String.valueOf(getMessage());
        }
    }
}
