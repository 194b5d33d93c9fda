package dev.genv.enforcer.api;

import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;

/**
 * Refuses what nobody would read: bodies, of which only a question for a plan has one worth reading, and requests that are
 * none. Anybody on the machine may send them, so they leave no trace in the log.
 */
@Singleton
public class RequestLimits {
    private static final int AFTER_THE_TOKEN = 900;
    /** For clients that send an empty object or the like with every request. */
    private static final int LARGEST_OTHER = 1024;

    private static final String NOT_UNDERSTOOD = "this is not a request that can be understood";

    private final PlanMemory memory;

    RequestLimits(PlanMemory memory) {
        this.memory = memory;
    }

    void stand(@Observes Filters filters) {
        filters.register(this::check, AFTER_THE_TOKEN);
    }

    void stand(@Observes Router router) {
        router.route().order(-AFTER_THE_TOKEN).failureHandler(RequestLimits::refuse);
    }

    void stand(@Observes ManagementInterface management) {
        management.router().route().order(-AFTER_THE_TOKEN).handler(RequestLimits::checkPath);
        management.router().route().order(-AFTER_THE_TOKEN).handler(this::check);
        stand(management.router());
        // The router would answer in HTML.
        management.router().errorHandler(404, request -> Refusal.send(request, 404, "there is no such path"));
    }

    /** What is the client's fault is told to the client. */
    private static void refuse(RoutingContext request) {
        var status = request.statusCode();
        if (request.response().closed()) {
            return; // The client has closed the connection.
        }
        if (status >= 400 && status < 500 && !request.response().ended()) {
            Refusal.send(request, status, NOT_UNDERSTOOD);
        } else {
            request.next();
        }
    }

    /** The router would log a path that it cannot decode. */
    private static void checkPath(RoutingContext request) {
        try {
            request.normalizedPath();
        } catch (IllegalArgumentException e) {
            Refusal.send(request, 400, NOT_UNDERSTOOD);
            return;
        }
        request.next();
    }

    /** Whether it is the only kind of request that has a body worth reading. */
    static boolean isPlan(RoutingContext request) {
        return request.request().method().equals(HttpMethod.POST)
                && request.normalizedPath().equals(PlanResource.PATH);
    }

    private void check(RoutingContext request) {
        request.addEndHandler(_ -> Refusal.hangUpIfMoreComes(request));
        var plan = isPlan(request);
        var largest = plan ? memory.largestBody() : LARGEST_OTHER;
        if (declaredLength(request) > largest) {
            Refusal.send(request, 413, "the body is larger than %d bytes".formatted(largest));
        } else if (!plan && request.request().headers().contains(HttpHeaders.TRANSFER_ENCODING)) {
            // It would have no end that anybody looks for.
            Refusal.send(request, 413, "a body without a length is read by POST %s alone".formatted(PlanResource.PATH));
        } else {
            request.next();
        }
    }

    /** What is no number has been refused before. */
    private static long declaredLength(RoutingContext request) {
        var length = request.request().getHeader(HttpHeaders.CONTENT_LENGTH);
        try {
            return length == null ? 0 : Long.parseLong(length.strip());
        } catch (NumberFormatException e) {
            return Long.MAX_VALUE;
        }
    }
}
