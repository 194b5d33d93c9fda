package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.notification.Delivery.Reply;
import dev.genv.enforcer.notification.Delivery.ReplyKind;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import io.micrometer.core.instrument.MeterRegistry;
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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import org.jboss.logging.Logger;

/** Sends mails to users. A mail that the server does not accept is tried again for some hours, and does not delay the others. */
public final class MailDelivery extends PersonalDelivery<String> {
    private static final Logger LOG = Logger.getLogger(MailDelivery.class);
    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(30);
    private static final Duration LONGEST_RETRY = Duration.ofMinutes(15);
    /** After this time the user does not need the mail any more. */
    private static final Duration LONGEST_AGE = Duration.ofHours(4);

    private static final int MOST_MAILS = 200;

    private final Addresses addresses;
    private final MailSender sender;
    private final RetryDelay retryDelay;
    private final List<Attempt> waiting = new ArrayList<>();

    /**
     * A mail to one user, when its next attempt follows, and when it is given up.
     *
     * @param oldest when the first of its notices was recorded
     */
    private record Attempt(MailMessage mail, Instant oldest, int failures, long due, long end) {
        String to() {
            return mail.getTo().getFirst();
        }
    }

    public MailDelivery(
            MessageSource source,
            Addresses addresses,
            MailSender sender,
            Limits limits,
            Ticker ticker,
            RandomGenerator random,
            MeterRegistry registry) {
        super("mail", source, limits, ticker, registry);
        this.addresses = addresses;
        this.sender = sender;
        retryDelay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
    }

    @Override
    Optional<String> person(PersonalNotice personal) {
        return addresses.of(personal);
    }

    @Override
    Optional<Duration> deliver() throws InterruptedException {
        takeDue(this::enqueue);
        showWaiting();
        var due = waiting.stream()
                .filter(attempt -> until(attempt.due()).isZero())
                .findFirst();
        if (due.isPresent()) {
            waiting.remove(due.get());
            send(due.get());
            return Optional.of(Duration.ZERO); // new events are read between two mails
        }
        return waiting.stream().map(attempt -> until(attempt.due())).min(Comparator.naturalOrder());
    }

    private void enqueue(Batch<String> batch) {
        if (waiting.size() >= MOST_MAILS) {
            dropped.increment();
        } else {
            var oldest = batch.notices().getFirst().notice().at();
            var groups = NoticeText.groups(batch.notices());
            var mail = sender.message(batch.person(), subject(groups), text(batch, groups));
            sender.setThread(
                    mail,
                    batch.notices().stream()
                            .map(personal -> personal.violation().id())
                            .distinct()
                            .toList());
            waiting.add(new Attempt(mail, oldest, 0, ticker.mark(), markAfter(LONGEST_AGE)));
        }
    }

    private void send(Attempt attempt) throws InterruptedException {
        var reply = sender.send(attempt.mail());
        if (reply.kind() == ReplyKind.ACCEPTED) {
            countSent();
        } else if (reply.kind() == ReplyKind.REFUSED || until(attempt.end()).isZero()) {
            countFailure(failed, reply.why());
            LOG.warnf("A mail to %s is given up: %s", attempt.to(), reply.why());
        } else {
            postpone(attempt, reply.why());
        }
    }

    private void postpone(Attempt attempt, String why) {
        countFailure(retried, why);
        var failures = attempt.failures() + 1;
        if (failures == 1) {
            LOG.warnf("A mail to %s was not sent and is tried again: %s", attempt.to(), why);
        }
        var due = markAfter(retryDelay.after(failures));
        waiting.add(new Attempt(attempt.mail(), attempt.oldest(), failures, due, attempt.end()));
    }

    @Override
    List<Instant> queued() {
        return waiting.stream().map(Attempt::oldest).toList();
    }

    private String text(Batch<String> batch, List<List<PersonalNotice>> groups) {
        var paragraphs = groups.stream().map(this::paragraph).collect(Collectors.joining("\n\n"));
        var more = batch.omitted() == 0 ? "" : "%n%nThere are %d more.".formatted(batch.omitted());
        return """
            %s%s

            --
            This mail is from genv-enforcer, which enforces the GPU allocations that genv records.
            You get it because these processes or environments have your user id. You get at most %d such mails in an hour.
            """.formatted(paragraphs, more, limits.perHour());
    }

    /** The subject has no text that users chose. */
    private static String subject(List<List<PersonalNotice>> groups) {
        return groups.size() == 1
                ? "genv-enforcer: " + NoticeText.title(groups.getFirst())
                : "genv-enforcer: %d messages about your GPU processes".formatted(groups.size());
    }

    private String paragraph(List<PersonalNotice> group) {
        var text = source.text();
        return "%s%n%s".formatted(text.time(group.getFirst().notice().at()), text.paragraph(group));
    }

    /**
     * Sends one mail at a time, each over its own connection, so that a server that does not answer keeps none.
     *
     * @param server a {@link #server server}, with the user if there is a login
     * @param password the password of this user; empty to send without a login
     * @param from the sender of all mails
     * @param copyTo who also gets each mail
     * @param replyTo who gets the answers of users; empty for the sender
     * @param timeout the longest time for a mail
     */
    public record MailSender(
            Vertx vertx,
            MailConfig server,
            Optional<SecretFile> password,
            String from,
            Optional<String> copyTo,
            Optional<String> replyTo,
            Duration timeout) {
        private static final int SUBMISSIONS_PORT = 465;
        private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
        /** Replies of RFC 4954 that concern the login, and no mail. An administrator can correct the password while mails wait. */
        private static final Set<Integer> LOGIN_REFUSED = Set.of(530, 534, 535, 538);

        /** Whether a connection is encrypted. */
        public enum Tls {
            /** Always, and the certificate must be valid for the server's name. */
            REQUIRED,
            /** If the server offers it, without a check of the certificate. */
            OPPORTUNISTIC,
            /** Never. */
            NONE
        }

        /** Returns the SMTP server that takes the mails. TLS begins with the connection on port 465 (RFC 8314), or else with STARTTLS. */
        public static MailConfig server(String host, int port, Tls tls) {
            var isImplicit = tls != Tls.NONE && port == SUBMISSIONS_PORT;
            var starttls = switch (tls) {
                case REQUIRED -> StartTLSOptions.REQUIRED;
                case OPPORTUNISTIC -> StartTLSOptions.OPTIONAL;
                case NONE -> StartTLSOptions.DISABLED;
            };
            // The client checks the name of the server only if no algorithm for that is set, and certificates are
            // checked.
            return new MailConfig(host, port)
                    .setSsl(isImplicit)
                    .setStarttls(isImplicit ? StartTLSOptions.DISABLED : starttls)
                    .setTrustAll(tls != Tls.REQUIRED);
        }

        /**
         * Sends a mail, and waits until the server has accepted it. An attempt is a verticle, because Vert.x closes the connections of a verticle
         * when it is undeployed. The mail client itself closes a connection only after the server has answered QUIT.
         */
        Reply send(MailMessage mail) throws InterruptedException {
            MailConfig config;
            try {
                config = config();
            } catch (IOException e) {
                return Reply.failed("the password of the mail server is unknown: " + e.getMessage());
            }
            Promise<Reply> reply = Promise.promise();
            var deployment = vertx.deployVerticle(new AbstractVerticle() {
                @Override
                public void start() {
                    MailClient.create(vertx, config)
                            .sendMail(mail)
                            .map(Reply.ACCEPTED)
                            .onComplete(reply);
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
                var isPermanent = refusal.isPermanent() && !LOGIN_REFUSED.contains(refusal.getReplyCode());
                var kind = isPermanent ? ReplyKind.REFUSED : ReplyKind.FAILED;
                return new Reply(kind, "the mail server answered: " + text);
            }
            return Reply.failed("the mail server cannot be used: " + text);
        }

        /** Writes a mail. Its Message-ID stays the same for each attempt. */
        MailMessage message(String to, String subject, String text) {
            var domain = Addresses.domainOf(from);
            var message = new MailMessage()
                    .setFrom(from)
                    .setTo(to)
                    .setSubject(subject)
                    .setText(text)
                    .addHeader("Message-ID", "<%s@%s>".formatted(UUID.randomUUID(), domain))
                    .addHeader("List-Id", "<genv-enforcer.%s>".formatted(domain))
                    // No vacation notice answers such a mail (RFC 3834).
                    .addHeader("Auto-Submitted", "auto-generated");
            copyTo.map(List::of).ifPresent(message::setCc);
            replyTo.ifPresent(address -> message.addHeader("Reply-To", address));
            return message;
        }

        /** Has mail programs show all mails about a violation together, as answers to a mail that does not exist (RFC 5322, 3.6.4). */
        void setThread(MailMessage message, List<String> violations) {
            var domain = Addresses.domainOf(from);
            message.addHeader(
                    "References",
                    violations.stream()
                            .map(id -> "<%s@%s>".formatted(id, domain))
                            .collect(Collectors.joining(" ")));
        }

        private MailConfig config() throws IOException {
            var config = new MailConfig(server)
                    .setOwnHostname(Addresses.domainOf(from))
                    .setKeepAlive(false)
                    .setConnectTimeout((int) CONNECT_TIMEOUT.toMillis())
                    .setIdleTimeoutUnit(TimeUnit.MILLISECONDS)
                    .setIdleTimeout((int) timeout.toMillis());
            if (password.isEmpty()) {
                return config.setLogin(LoginOption.DISABLED);
            }
            return config.setLogin(LoginOption.REQUIRED)
                    .setAuthMethods("PLAIN LOGIN CRAM-MD5")
                    .setPassword(password.get().read());
        }
    }
}
