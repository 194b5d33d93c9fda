package dev.genv.enforcer.notification;

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
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Sends mails to users. A mail that the server does not accept is tried again for some hours, and does not delay the others. */
public record MailSender(NoticeText text, Addresses addresses, MailServer server, Limits limits) implements Sender {
    @Override
    public String name() {
        return "mail";
    }

    @Override
    public Recipients recipients(Notice notice) {
        return find(notice.byUid(text.users()));
    }

    @Override
    public Recipients recipients(long uid, Notice personal) {
        return find(Map.of(uid, personal));
    }

    private Recipients find(Map<Long, Notice> byUid) {
        var known = new LinkedHashMap<String, Notice>();
        var pending = new LinkedHashMap<Long, Notice>();
        byUid.forEach((uid, its) -> {
            var address = addresses.of(its.violation().violation().hosts(), uid);
            address.text().ifPresent(recipient -> known.merge(recipient, its, Notice::with));
            if (address.isPending()) {
                pending.put(uid, its);
            }
        });
        return new Recipients(known, pending);
    }

    @Override
    public Optional<String> problem() {
        return addresses.problem();
    }

    @Override
    public Reply send(Message message) throws InterruptedException {
        var groups = NoticeText.groups(message.notices());
        var key = message.notices().getFirst().id();
        var mail = server.message(message.recipient(), subject(groups), body(message, groups), key)
                // Mail programs show all mails about a violation together, as answers to a mail that does not exist
                // (RFC 5322, 3.6.4).
                .addHeader(
                        "References",
                        message.notices().stream()
                                .map(notice -> server.id(notice.violation().id()))
                                .distinct()
                                .collect(Collectors.joining(" ")));
        return server.send(mail);
    }

    private String body(Message message, List<List<Notice>> groups) {
        var paragraphs = groups.stream().map(this::paragraph).collect(Collectors.joining("\n\n"));
        var more = message.omitted() == 0 ? "" : "%n%nThere are %d more.".formatted(message.omitted());
        return """
            %s%s

            --
            This mail is from genv-enforcer, which enforces the GPU allocations that genv records.
            You get it because these processes or environments have your user id. You get at most %d such mails in an hour.
            """.formatted(paragraphs, more, limits.perHour());
    }

    /** The subject has no text that users chose. */
    private static String subject(List<List<Notice>> groups) {
        return groups.size() == 1
                ? "genv-enforcer: " + NoticeText.title(groups.getFirst())
                : "genv-enforcer: %d messages about your GPU processes%s"
                        .formatted(
                                groups.size(),
                                NoticeText.on(
                                        groups.stream().flatMap(List::stream).toList()));
    }

    private String paragraph(List<Notice> group) {
        return "%s%n%s".formatted(text.time(group.getFirst().at()), text.paragraph(group));
    }

    /**
     * Sends one mail at a time, each over its own connection, so that a server that does not answer keeps none.
     *
     * @param config a {@link #config server}, with the user if there is a login
     * @param password the password of this user; empty to send without a login
     * @param from the sender of all mails
     * @param copyTo who also gets each mail
     * @param replyTo who gets the answers of users; empty for the sender
     * @param timeout the longest time for a mail
     */
    public record MailServer(
            Vertx vertx,
            MailConfig config,
            Optional<SecretFile> password,
            String from,
            Optional<String> copyTo,
            Optional<String> replyTo,
            Duration timeout) {
        private static final int SUBMISSIONS_PORT = 465;
        /** As many words as fit into 78 characters, or else one, and the blank after them, if the line goes on. */
        private static final Pattern LONG_LINE =
                Pattern.compile("(?m)(?:^|\\G)(?=[^\n]{79})([^\n]{1,78}(?= )| *[^ \n]++) ");

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
        public static MailConfig config(String host, int port, Tls tls) {
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
         * when it is undeployed. The mail client itself closes a connection only after the server has answered QUIT. A server that refuses one
         * address sends the mail to nobody, so it is sent to the user alone then.
         */
        Reply send(MailMessage mail) throws InterruptedException {
            MailConfig server;
            try {
                server = withLogin();
            } catch (IOException e) {
                return Reply.failed("the password of the mail server is unknown: " + e.getMessage());
            }
            Promise<Reply> reply = Promise.promise();
            var deployment = vertx.deployVerticle(new AbstractVerticle() {
                @Override
                public void start() {
                    var client = MailClient.create(vertx, server);
                    client.sendMail(mail)
                            .map(Reply.ACCEPTED)
                            .recover(cause -> mail.getCc() != null
                                            && failure(cause).kind() == ReplyKind.REFUSED
                                    ? client.sendMail(new MailMessage(mail).setCc(List.of()))
                                            .map(new Reply(
                                                    ReplyKind.ACCEPTED, "the copy was not sent: " + answer(cause)))
                                    : Future.failedFuture(cause))
                            .onComplete(reply);
                }
            });
            try {
                return Reply.await(
                        deployment.compose(_ -> reply.future()), "the mail server", timeout, MailServer::failure);
            } finally {
                deployment.onSuccess(vertx::undeploy);
            }
        }

        private static Reply failure(Throwable cause) {
            if (cause instanceof SMTPException refusal) {
                var isPermanent = refusal.isPermanent() && !LOGIN_REFUSED.contains(refusal.getReplyCode());
                var kind = isPermanent ? ReplyKind.REFUSED : ReplyKind.FAILED;
                return new Reply(kind, answer(cause));
            }
            return Reply.failed("the mail server cannot be used: " + Reply.escape(cause.getMessage()));
        }

        private static String answer(Throwable refusal) {
            return "the mail server answered: " + Reply.escape(refusal.getMessage());
        }

        /**
         * Writes a mail.
         *
         * @param key the same for each attempt, so that a receiver can recognize a mail that it gets twice
         */
        MailMessage message(String to, String subject, String text, String key) {
            var id = UUID.nameUUIDFromBytes((to + key).getBytes(StandardCharsets.UTF_8));
            var message = new MailMessage()
                    .setFrom(from)
                    .setTo(to)
                    .setSubject(subject)
                    .setText(wrap(text))
                    .addHeader("Message-ID", id(id.toString()))
                    .addHeader("List-Id", "<genv-enforcer.%s>".formatted(Addresses.domainOf(from)))
                    // No vacation notice answers such a mail (RFC 3834).
                    .addHeader("Auto-Submitted", "auto-generated");
            copyTo.map(List::of).ifPresent(message::setCc);
            replyTo.ifPresent(address -> message.addHeader("Reply-To", address));
            return message;
        }

        /** Breaks lines between words (RFC 5322, 2.1.1); a longer word, such as a link, has a line of its own. */
        static String wrap(String text) {
            return LONG_LINE.matcher(text).replaceAll("$1\n");
        }

        /** Returns the identifier of a mail, for its headers. */
        String id(String name) {
            return "<%s@%s>".formatted(name, Addresses.domainOf(from));
        }

        private MailConfig withLogin() throws IOException {
            var result = new MailConfig(config)
                    .setOwnHostname(Addresses.domainOf(from))
                    .setKeepAlive(false)
                    .setConnectTimeout((int) CONNECT_TIMEOUT.toMillis())
                    .setIdleTimeoutUnit(TimeUnit.MILLISECONDS)
                    .setIdleTimeout((int) timeout.toMillis());
            return password.isEmpty()
                    ? result.setLogin(LoginOption.DISABLED)
                    : result.setLogin(LoginOption.REQUIRED)
                            .setAuthMethods("PLAIN LOGIN CRAM-MD5")
                            .setPassword(password.get().read());
        }
    }
}
