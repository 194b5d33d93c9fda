package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.model.SafeText;
import io.vertx.core.Future;
import io.vertx.core.Promise;
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
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Base64;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Sends one event at a time, each over its own connection, so that a receiver that does not answer keeps none. Redirects are not followed.
 * The body of the answer is not read.
 *
 * @param receiver the address, with {@code http} or {@code https}
 * @param secret signs the requests; empty for requests without a signature
 * @param timeout the longest time for a request
 */
public record WebhookSender(
        Vertx vertx, URI receiver, Optional<SecretFile> secret, WebhookBodies bodies, Duration timeout, Ticker ticker) {
    private static final int LONGEST_REASON = 200;
    private static final int LONGEST_HEADERS = 16 << 10;

    /** Statuses of RFC 9110 that concern the content of a request. */
    private static final Set<Integer> REFUSED = Set.of(400, 413, 422);

    /** After a day, events are given up. */
    private static final Duration LONGEST_WAIT = Duration.ofDays(1);

    /** Sends an event once, and waits for the answer. */
    Reply send(Notice notice) throws InterruptedException {
        var client = vertx.createHttpClient(new HttpClientOptions()
                .setProtocolVersion(HttpVersion.HTTP_1_1)
                .setKeepAlive(false)
                .setVerifyHost(true)
                .setMaxHeaderSize(LONGEST_HEADERS)
                .setConnectTimeout((int) timeout.toMillis()));
        try {
            return request(client, notice)
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            return failed("the receiver did not answer within %d s".formatted(timeout.toSeconds()));
        } catch (ExecutionException e) {
            return failed("the receiver cannot be reached: "
                    + SafeText.escape(reason(Objects.requireNonNullElse(e.getCause(), e)), LONGEST_REASON));
        } catch (IOException e) {
            return failed("the secret of the webhook is unknown: " + Errno.textOf(e));
        } finally {
            client.close();
        }
    }

    private Future<Reply> request(HttpClient client, Notice notice) throws IOException {
        var body = bodies.of(notice);
        var options = new RequestOptions()
                .setMethod(HttpMethod.POST)
                .setAbsoluteURI(receiver.toString())
                .setFollowRedirects(false)
                .putHeader("Content-Type", bodies.contentType())
                .putHeader("User-Agent", "genv-enforcer");
        var now = ticker.now();
        var id = WebhookBodies.id(notice);
        options.putHeader("webhook-id", id).putHeader("webhook-timestamp", Long.toString(now.getEpochSecond()));
        if (secret.isPresent()) {
            options.putHeader(
                    "webhook-signature", new WebhookSignature(secret.get().read()).of(id, now, body));
        }
        Promise<Reply> reply = Promise.promise();
        client.request(options)
                .compose(request -> request.send(Buffer.buffer(body)))
                .onSuccess(response -> reply.tryComplete(reply(response)))
                .onFailure(reply::tryFail);
        return reply.future();
    }

    private Reply reply(HttpClientResponse response) {
        var status = response.statusCode();
        if (status == 410) {
            return new Reply.Gone();
        }
        if (status >= 200 && status < 300) {
            return new Reply.Accepted();
        }
        var isRedirect = status >= 300 && status < 400;
        var why = "the receiver answered with the status %d%s"
                .formatted(status, isRedirect ? ", and redirects are not followed" : "");
        var asked = RetryAfter.parse(response.getHeader("Retry-After"), ticker.now(), LONGEST_WAIT);
        return REFUSED.contains(status) ? new Reply.Refused(why, asked) : new Reply.Failed(why, asked);
    }

    private static String reason(Throwable cause) {
        return Objects.requireNonNullElse(cause.getMessage(), cause.getClass().getSimpleName());
    }

    private static Reply failed(String why) {
        return new Reply.Failed(why, Optional.empty());
    }

    /** The result of one request. */
    sealed interface Reply {
        /** The receiver accepted the event. */
        record Accepted() implements Reply {}

        /** The receiver wants no more events (410). */
        record Gone() implements Reply {}

        /** The event was not accepted, and may be accepted later. The receiver may ask to wait. */
        record Failed(String why, Optional<Duration> asked) implements Reply {}

        /** The receiver refuses this event (400, 413 or 422), and perhaps accepts others. It may ask to wait. */
        record Refused(String why, Optional<Duration> asked) implements Reply {}
    }

    /** The header {@code Retry-After} (RFC 9110, 10.2.3): seconds, or a date. */
    static final class RetryAfter {
        private static final Pattern SECONDS = Pattern.compile("[0-9]{1,9}");

        private RetryAfter() {}

        /** Returns the time to wait, never longer than this; empty if the header is missing or invalid. */
        static Optional<Duration> parse(@Nullable String value, Instant now, Duration longest) {
            return Optional.ofNullable(value)
                    .map(String::strip)
                    .flatMap(text -> SECONDS.matcher(text).matches()
                            ? Optional.of(Duration.ofSeconds(Long.parseLong(text)))
                            : date(text).map(at -> Duration.between(now, at)))
                    .map(wait -> wait.isNegative() ? Duration.ZERO : wait)
                    .map(wait -> wait.compareTo(longest) > 0 ? longest : wait);
        }

        private static Optional<Instant> date(String text) {
            try {
                return Optional.of(ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME)
                        .toInstant());
            } catch (DateTimeParseException e) {
                return Optional.empty();
            }
        }
    }

    /**
     * Signs a request as Standard Webhooks defines it: HMAC-SHA-256 over the id, the time and the body, separated by dots.
     *
     * @param secret {@code whsec_} and the key in Base64, or any other text, whose bytes are the key
     */
    record WebhookSignature(String secret) {
        private static final String PREFIX = "whsec_";
        private static final String ALGORITHM = "HmacSHA256";

        /** Returns the value of the header {@code webhook-signature}. The message of an error never has the secret. */
        String of(String id, Instant at, byte[] body) throws IOException {
            try {
                var mac = Mac.getInstance(ALGORITHM);
                mac.init(new SecretKeySpec(key(), ALGORITHM));
                mac.update("%s.%d.".formatted(id, at.getEpochSecond()).getBytes(StandardCharsets.UTF_8));
                return "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
            } catch (GeneralSecurityException e) {
                throw new IllegalStateException("every Java runtime has this algorithm", e);
            }
        }

        /** Returns the key, which must not be empty; the message of an error never has the secret. */
        byte[] key() throws IOException {
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
