package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.notification.Notice.NoticeKind;
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
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Sends the events of violations to a receiver: in their order, one request at a time, each over its own connection, so that a receiver
 * that does not answer keeps none. Redirects are not followed. The body of the answer is not read.
 *
 * @param kinds the events that the receiver gets
 * @param receiver the address, with {@code http} or {@code https}
 * @param secret signs the requests; empty for requests without a signature
 * @param timeout the longest time for a request
 */
public record WebhookSender(
        Vertx vertx,
        URI receiver,
        Optional<SecretFile> secret,
        WebhookBodies bodies,
        Set<NoticeKind> kinds,
        Duration timeout,
        Ticker ticker)
        implements Sender {
    private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");
    private static final String PREFIX = "whsec_";
    private static final String ALGORITHM = "HmacSHA256";
    private static final int LONGEST_HEADERS = 16 << 10;

    /** Statuses of RFC 9110 that concern the content of a request. */
    private static final Set<Integer> REFUSED = Set.of(400, 413, 422);

    public WebhookSender {
        kinds = Set.copyOf(kinds);
    }

    @Override
    public String name() {
        return "webhook";
    }

    @Override
    public Limits limits() {
        return Limits.ofEveryEvent();
    }

    /** Returns the notice for its incident, of which a request has all notices. */
    @Override
    public Recipients recipients(Notice notice) {
        return Recipients.of(kinds.contains(notice.kind()) ? Map.of(bodies.incident(notice), notice) : Map.of());
    }

    @Override
    public Reply send(Message message) throws InterruptedException {
        var client = vertx.createHttpClient(new HttpClientOptions()
                .setProtocolVersion(HttpVersion.HTTP_1_1)
                .setKeepAlive(false)
                .setVerifyHost(true)
                .setMaxHeaderSize(LONGEST_HEADERS)
                .setConnectTimeout((int) timeout.toMillis()));
        try {
            return Reply.await(request(client, message), "the receiver", timeout, WebhookSender::failure);
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

    private Future<Reply> request(HttpClient client, Message message) throws IOException {
        var body = bodies.of(message.notices());
        var id = message.notices().getFirst().id();
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
        response.exceptionHandler(_ -> {}); // the connection is closed before the body is there, which is no error
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
        var asked = retryAfter(response.getHeader("Retry-After"), ticker.now(), limits().longestAge());
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
