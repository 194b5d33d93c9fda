package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.HttpErrors;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.net.URI;
import java.net.URISyntaxException;

/**
 * Refuses invalid requests, and request bodies, which only plan requests need. Every user of the machine can send them, so they are
 * not logged.
 *
 * <p>The limits of plans are shares of the heap: the service exits if it runs out of memory, and the cycles need it too. Two plan
 * requests are answered at the same time. Each takes up to three times the memory of its tree for the objects of the
 * plan, and a growing buffer needs up to three times its content. With a report, all this is at most three quarters of
 * the heap.
 */
@Singleton
public class RequestLimits {
    private static final int AFTER_THE_TOKEN = 900;
    /** For clients that send an empty object with every request. */
    private static final int LARGEST_OTHER = 1024;

    private static final String INVALID_REQUEST = "this is not a valid request";

    private static final int BODY_SHARE = 32;
    private static final int TREE_SHARE = 24;
    private static final int ANSWER_SHARE = 48;

    private final long heap;

    @Inject
    RequestLimits() {
        this(Runtime.getRuntime().maxMemory());
    }

    RequestLimits(long heap) {
        this.heap = heap;
    }

    void register(@Observes Filters filters) {
        filters.register(this::check, AFTER_THE_TOKEN);
    }

    void register(@Observes Router router) {
        router.route().order(-AFTER_THE_TOKEN).failureHandler(RequestLimits::refuse);
    }

    void register(@Observes ManagementInterface management) {
        management.router().route().order(-AFTER_THE_TOKEN).handler(RequestLimits::checkPath);
        management.router().route().order(-AFTER_THE_TOKEN).handler(this::check);
        register(management.router());
        // The router would answer in HTML.
        management.router().errorHandler(404, request -> HttpErrors.send(request, 404, HttpErrors.NO_SUCH_PATH));
    }

    /** Errors of the client are answered and not logged. */
    private static void refuse(RoutingContext request) {
        var status = request.statusCode();
        if (request.response().closed()) {
            return; // The client has closed the connection.
        }
        if (status >= 400 && status < 500 && !request.response().ended()) {
            HttpErrors.send(request, status, INVALID_REQUEST);
        } else {
            request.next();
        }
    }

    /** The router would log a path that it cannot decode. */
    private static void checkPath(RoutingContext request) {
        try {
            request.normalizedPath();
        } catch (IllegalArgumentException e) {
            HttpErrors.send(request, 400, INVALID_REQUEST);
            return;
        }
        request.next();
    }

    /** Whether it is a plan request, the only kind with a body. */
    private static boolean isPlan(RoutingContext request) {
        return request.request().method().equals(HttpMethod.POST)
                && request.normalizedPath().equals(PlanResource.PATH);
    }

    private void check(RoutingContext request) {
        request.addEndHandler(_ -> HttpErrors.closeIfBodyFollows(request));
        if (!isUri(request.request().uri())) {
            HttpErrors.send(
                    request, 400, "the request target is no URI; perhaps a character in it must be percent-encoded");
            return;
        }
        var largest = isPlan(request) ? largestBody() : LARGEST_OTHER;
        if (request.request().headers().contains(HttpHeaders.TRANSFER_ENCODING)) {
            // The end of a body without a length is not looked for.
            HttpErrors.send(request, 411, "a body needs the header Content-Length");
        } else if (declaredLength(request) > largest) {
            HttpErrors.send(request, 413, "the body is larger than %d bytes".formatted(largest));
        } else {
            request.next();
        }
    }

    /** The framework would log a failure for a target that it cannot parse. */
    private static boolean isUri(String target) {
        try {
            var _ = new URI(target);
            return true;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    /** An invalid number was already refused. */
    private static long declaredLength(RoutingContext request) {
        var length = request.request().getHeader(HttpHeaders.CONTENT_LENGTH);
        return length == null ? 0 : Long.parseLong(length.strip());
    }

    /** Returns the limit of a body. While it is parsed, one value of it may be in memory twice. */
    private int largestBody() {
        return (int) Math.min(PlanResource.LARGEST_BODY, heap / BODY_SHARE);
    }

    /** Returns the limit of a parsed body. */
    long largestTree() {
        return heap / TREE_SHARE;
    }

    int largestAnswer() {
        return (int) Math.min(PlanResource.LARGEST_BODY, heap / ANSWER_SHARE);
    }
}
