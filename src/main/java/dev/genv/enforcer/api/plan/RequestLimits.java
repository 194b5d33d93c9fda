package dev.genv.enforcer.api.plan;

import dev.genv.enforcer.api.security.HttpErrors;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.net.URI;
import java.net.URISyntaxException;

/**
 * Refuses request bodies, which only plan requests need, and invalid requests. Every user of the machine can send them, so they are
 * not logged.
 */
@Singleton
public class RequestLimits {
    private static final int AFTER_THE_TOKEN = 900;
    /** For clients that send an empty object with every request. */
    private static final int LARGEST_OTHER = 1024;

    private static final String INVALID_REQUEST = "this is not a valid request";

    private final PlanBodies bodies;

    RequestLimits(PlanBodies bodies) {
        this.bodies = bodies;
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
    static boolean isPlan(RoutingContext request) {
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
        var plan = isPlan(request);
        var largest = plan ? bodies.largestBody() : LARGEST_OTHER;
        if (declaredLength(request) > largest) {
            HttpErrors.send(request, 413, "the body is larger than %d bytes".formatted(largest));
        } else if (!plan && request.request().headers().contains(HttpHeaders.TRANSFER_ENCODING)) {
            // The end of a body without a length is not looked for.
            HttpErrors.send(request, 413, "only POST %s accepts a body without a length".formatted(PlanResource.PATH));
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
        try {
            return length == null ? 0 : Long.parseLong(length.strip());
        } catch (NumberFormatException e) {
            return Long.MAX_VALUE;
        }
    }
}
