package dev.genv.enforcer.api;

import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;

/**
 * Limits the answers under way whose size users choose. Until its client has read it, each answer keeps its content in
 * memory, which may be a state or violations that the service has already replaced.
 */
@Singleton
public class AnswerLimits {
    private static final int AFTER_THE_TOKEN = 890;
    private static final int AT_ONCE = 2;
    /** The connection of a client that takes longer to read an answer is closed. */
    private static final Duration LONGEST = Duration.ofSeconds(20);

    /** What may be added to a path without its becoming another resource: matrix parameters, and a slash at the end. */
    private static final Pattern IGNORED = Pattern.compile(";[^/]*|/+(;[^/]*)?$");

    private final Map<String, Semaphore> permits = Map.of(
            SnapshotResource.PATH, new Semaphore(AT_ONCE),
            ViolationsResource.PATH, new Semaphore(AT_ONCE));

    void register(@Observes Filters filters) {
        filters.register(this::check, AFTER_THE_TOKEN);
    }

    private void check(RoutingContext request) {
        var permit = permits.get(IGNORED.matcher(request.normalizedPath()).replaceAll(""));
        if (permit == null) {
            request.next();
        } else if (permit.tryAcquire()) {
            releaseAtTheEnd(request, permit);
            request.next();
        } else {
            request.response().putHeader("Retry-After", "1");
            Refusal.send(request, 503, "too many clients are receiving this answer; try again soon");
        }
    }

    private static void releaseAtTheEnd(RoutingContext request, Semaphore permit) {
        var isReleased = new AtomicBoolean();
        var deadline = request.vertx()
                .setTimer(
                        LONGEST.toMillis(), _ -> request.request().connection().close());
        request.addEndHandler(_ -> {
            if (isReleased.compareAndSet(false, true)) {
                request.vertx().cancelTimer(deadline);
                permit.release();
            }
        });
    }
}
