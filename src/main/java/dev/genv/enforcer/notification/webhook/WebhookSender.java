package dev.genv.enforcer.notification.webhook;

import dev.genv.enforcer.enforcement.clock.Ticker;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.SecretFile;
import dev.genv.enforcer.notification.notice.Notice;
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
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Sends one event at a time, each over its own connection, so that a receiver that does not answer keeps none. Redirects are not followed.
 * The body of the answer is not read.
 */
public final class WebhookSender {
    private static final int GONE = 410;
    private static final int FIRST_SUCCESS = 200;
    private static final int FIRST_REDIRECT = 300;
    private static final int FIRST_CLIENT_ERROR = 400;
    private static final int LONGEST_REASON = 200;
    private static final int LONGEST_HEADERS = 16 << 10;

    /** Statuses of RFC 9110 that concern the content of a request. */
    private static final Set<Integer> REFUSED = Set.of(400, 413, 422);

    /** After a day, events are given up. */
    private static final Duration LONGEST_WAIT = Duration.ofDays(1);

    private final Vertx vertx;
    private final URI receiver;
    private final Optional<SecretFile> secret;
    private final WebhookBodies bodies;
    private final Duration timeout;
    private final Ticker ticker;

    /**
     * Creates a sender without connecting.
     *
     * @param receiver the address, with {@code http} or {@code https}
     * @param secret signs the requests; empty for requests without a signature
     * @param timeout the longest time for a request
     */
    public WebhookSender(
            Vertx vertx,
            URI receiver,
            Optional<SecretFile> secret,
            WebhookBodies bodies,
            Duration timeout,
            Ticker ticker) {
        this.vertx = vertx;
        this.receiver = receiver;
        this.secret = secret;
        this.bodies = bodies;
        this.timeout = timeout;
        this.ticker = ticker;
    }

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
        if (status == GONE) {
            return new Reply.Gone();
        }
        if (status >= FIRST_SUCCESS && status < FIRST_REDIRECT) {
            return new Reply.Accepted();
        }
        var isRedirect = status >= FIRST_REDIRECT && status < FIRST_CLIENT_ERROR;
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
}
