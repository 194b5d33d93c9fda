package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.notification.Delivery.Reply;
import dev.genv.enforcer.notification.Delivery.ReplyKind;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.RequestOptions;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Sends the events of violations to a receiver: in their order, one at a time, each until the receiver accepts it, has refused it three
 * times, or the event is a day old. The events wait in the log of events, so nothing else grows while the receiver does not answer.
 */
public final class WebhookDelivery extends Delivery {
    /** The name of this kind of delivery. */
    public static final String NAME = "webhook";

    private static final Logger LOG = Logger.getLogger(WebhookDelivery.class);
    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(5);
    private static final Duration LONGEST_RETRY = Duration.ofHours(1);
    /** After this time, events are given up. */
    private static final Duration LONGEST_AGE = Duration.ofDays(1);

    private static final int MOST_REFUSALS = 3;

    /** The largest number of events of one request. */
    private static final int MOST_EVENTS = 100;

    private final WebhookSender sender;
    private final Set<NoticeKind> kinds;
    private final DeliveryCursors cursors;
    private final RetryDelay retryDelay;
    /** The failed attempts since the last accepted event. */
    private int failures;
    /** How often the receiver has refused the event after the position. */
    private int refusals;

    /** When the next attempt may follow. */
    private long pausedUntil;

    private boolean gone;

    /**
     * Creates a delivery, whose cursor names the last event that the receiver accepted.
     *
     * @param kinds the events that the receiver gets
     */
    public WebhookDelivery(
            WebhookSender sender,
            Set<NoticeKind> kinds,
            DeliveryCursors cursors,
            Ticker ticker,
            RandomGenerator random,
            MeterRegistry registry) {
        super(NAME, ticker, registry);
        this.sender = sender;
        this.kinds = Set.copyOf(kinds);
        this.cursors = cursors;
        retryDelay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
        pausedUntil = ticker.mark();
    }

    /**
     * Begins after the event that the cursor names, or with the next one. The cursor is ahead of the log if the database was removed.
     * The position is stored at once, so that a restart before the first accepted event continues with the same event.
     */
    @Override
    void begin(EventLog log) {
        proceedTo(Math.min(cursors.load(NAME).orElse(log.latest()), log.latest()));
    }

    @Override
    Duration run(EventLog log) throws InterruptedException {
        for (var event = due(log); event.isPresent(); event = due(log)) {
            deliver(event.get(), log);
        }
        var oldest = log.after(position, 1).events().stream().map(Event::at).findFirst();
        setWaiting(log.latest() - position, oldest.orElse(null));
        return gone || oldest.isEmpty() ? IDLE : until(pausedUntil);
    }

    private Optional<Event> due(EventLog log) {
        return gone || !until(pausedUntil).isZero() ? Optional.empty() : next(log);
    }

    private void deliver(Event event, EventLog log) throws InterruptedException {
        var notice = noticeOf(event);
        if (notice.isEmpty()) {
            proceedTo(event.sequence());
        } else if (failures > 0 && Duration.between(event.at(), ticker.now()).compareTo(LONGEST_AGE) >= 0) {
            countFailure(failed, "events are given up, because they are a day old");
            proceedTo(event.sequence());
        } else {
            deliver(sender.bodies().combines() ? incident(notice.get(), log) : List.of(notice.get()));
        }
    }

    private Optional<Notice> noticeOf(Event event) {
        return Notice.of(event).filter(notice -> kinds.contains(notice.kind()));
    }

    /** Returns a notice and those that follow it at once and are about the same user, rule and hosts. */
    private List<Notice> incident(Notice first, EventLog log) {
        return log.after(position, MOST_EVENTS).events().stream()
                .flatMap(event -> noticeOf(event).stream())
                .takeWhile(first::isOfSameIncident)
                .toList();
    }

    private void deliver(List<Notice> incident) throws InterruptedException {
        var reply = send(incident);
        switch (reply.kind()) {
            case ACCEPTED -> {
                countSent();
                failures = 0;
                proceedTo(incident.getLast().sequence());
            }
            case GONE -> {
                gone = true;
                countEnd(reply.why() + "; a restart of the service tries again");
                LOG.errorf("The webhook: %s; none are sent until the service is restarted", reply.why());
            }
            case FAILED, REFUSED -> fail(incident, reply);
        }
    }

    /** An error of the service counts as a refusal, so after three attempts the later events are sent. */
    private Reply send(List<Notice> incident) throws InterruptedException {
        try {
            return sender.send(incident);
        } catch (RuntimeException e) {
            LOG.errorf(e, "The event %s could not be sent to the webhook", WebhookBodies.id(incident));
            return new Reply(ReplyKind.REFUSED, reason(e));
        }
    }

    private void fail(List<Notice> incident, Reply reply) {
        refusals += reply.kind() == ReplyKind.REFUSED ? 1 : 0;
        if (refusals == MOST_REFUSALS) {
            LOG.warnf("The event %s is not sent to the webhook: %s", WebhookBodies.id(incident), reply.why());
            countFailure(failed, reply.why());
            proceedTo(incident.getLast().sequence());
        } else {
            if (failures == 0) {
                LOG.warnf("An event was not sent to the webhook and is tried again: %s", reply.why());
            }
            countFailure(retried, reply.why());
        }
        failures++; // also over events that are given up, because a receiver may refuse all of them
        var pause = reply.asked()
                .filter(wait -> wait.compareTo(SHORTEST_RETRY) > 0)
                .orElseGet(() -> retryDelay.after(failures));
        pausedUntil = markAfter(pause);
    }

    @Override
    void proceedTo(long sequence) {
        super.proceedTo(sequence);
        refusals = 0;
        cursors.store(NAME, sequence);
    }

    /**
     * Sends one event at a time, each over its own connection, so that a receiver that does not answer keeps none. Redirects are not followed.
     * The body of the answer is not read.
     *
     * @param receiver the address, with {@code http} or {@code https}
     * @param secret signs the requests; empty for requests without a signature
     * @param timeout the longest time for a request
     */
    public record WebhookSender(
            Vertx vertx,
            URI receiver,
            Optional<SecretFile> secret,
            WebhookBodies bodies,
            Duration timeout,
            Ticker ticker) {
        private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");
        private static final String PREFIX = "whsec_";
        private static final String ALGORITHM = "HmacSHA256";
        private static final int LONGEST_HEADERS = 16 << 10;

        /** Statuses of RFC 9110 that concern the content of a request. */
        private static final Set<Integer> REFUSED = Set.of(400, 413, 422);

        /** Sends the events of an incident once in one request, and waits for the answer. */
        Reply send(List<Notice> incident) throws InterruptedException {
            var client = vertx.createHttpClient(new HttpClientOptions()
                    .setProtocolVersion(HttpVersion.HTTP_1_1)
                    .setKeepAlive(false)
                    .setVerifyHost(true)
                    .setMaxHeaderSize(LONGEST_HEADERS)
                    .setConnectTimeout((int) timeout.toMillis()));
            try {
                return Reply.await(request(client, incident), "the receiver", timeout, WebhookSender::failure);
            } catch (IOException e) {
                return Reply.failed("the secret of the webhook is unknown: " + Errno.textOf(e));
            } finally {
                client.close();
            }
        }

        private static Reply failure(Throwable cause) {
            return Reply.failed("the receiver cannot be reached: "
                    + Reply.escape(Objects.requireNonNullElse(
                            cause.getMessage(), cause.getClass().getSimpleName())));
        }

        private Future<Reply> request(HttpClient client, List<Notice> incident) throws IOException {
            var body = bodies.of(incident);
            var id = WebhookBodies.id(incident);
            var now = ticker.now();
            var options = new RequestOptions()
                    .setMethod(HttpMethod.POST)
                    .setAbsoluteURI(receiver.toString())
                    .setFollowRedirects(false)
                    .putHeader("Content-Type", bodies.contentType())
                    .putHeader("User-Agent", "genv-enforcer")
                    .putHeader("webhook-id", id)
                    .putHeader("webhook-timestamp", Long.toString(now.getEpochSecond()));
            if (secret.isPresent()) {
                options.putHeader("webhook-signature", signature(secret.get().read(), id, now, body));
            }
            return client.request(options)
                    .compose(request -> request.send(Buffer.buffer(body)))
                    .map(this::reply);
        }

        private Reply reply(HttpClientResponse response) {
            var status = response.statusCode();
            if (status == 410) {
                return new Reply(ReplyKind.GONE, "the receiver wants no more events (status 410)");
            }
            if (status >= 200 && status < 300) {
                return Reply.ACCEPTED;
            }
            var isRedirect = status >= 300 && status < 400;
            var why = "the receiver answered with the status %d%s"
                    .formatted(status, isRedirect ? ", and redirects are not followed" : "");
            var asked = retryAfter(response.getHeader("Retry-After"), ticker.now(), LONGEST_AGE);
            return new Reply(REFUSED.contains(status) ? ReplyKind.REFUSED : ReplyKind.FAILED, why, asked);
        }

        /**
         * Returns the time to wait in a header {@code Retry-After} (RFC 9110, 10.2.3): seconds, or a date. It is never longer than this, and
         * empty if the header is missing or invalid.
         */
        static Optional<Duration> retryAfter(@Nullable String value, Instant now, Duration longest) {
            if (value == null) {
                return Optional.empty();
            }
            try {
                var text = value.strip();
                var wait = SECONDS.matcher(text).matches()
                        ? Duration.ofSeconds(Long.parseLong(text))
                        : Duration.between(now, DateTimeFormatter.RFC_1123_DATE_TIME.parse(text, Instant::from));
                var bounded = wait.compareTo(longest) > 0 ? longest : wait;
                return Optional.of(bounded.isNegative() ? Duration.ZERO : bounded);
            } catch (DateTimeParseException e) {
                return Optional.empty();
            }
        }

        /**
         * Returns the value of the header {@code webhook-signature} as Standard Webhooks defines it: HMAC-SHA-256 over the id, the time and
         * the body, separated by dots. The message of an error never has the secret.
         */
        private static String signature(String secret, String id, Instant at, byte[] body) throws IOException {
            try {
                var mac = Mac.getInstance(ALGORITHM);
                mac.init(new SecretKeySpec(key(secret), ALGORITHM));
                mac.update("%s.%d.".formatted(id, at.getEpochSecond()).getBytes(StandardCharsets.UTF_8));
                return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("every Java runtime has this algorithm", e);
            }
        }

        /**
         * Returns the key, which must not be empty.
         *
         * @param secret {@code whsec_} and the key in Base64, or any other text, whose bytes are the key
         */
        private static byte[] key(String secret) throws IOException {
            if (secret.equals(PREFIX)) {
                throw new IOException("after %s it has no key".formatted(PREFIX));
            }
            try {
                return secret.startsWith(PREFIX)
                        ? Base64.getDecoder().decode(secret.substring(PREFIX.length()))
                        : secret.getBytes(StandardCharsets.UTF_8);
            } catch (IllegalArgumentException e) {
                throw new IOException("after %s its content is no Base64".formatted(PREFIX), e);
            }
        }
    }
}
