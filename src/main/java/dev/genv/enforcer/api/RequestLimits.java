package dev.genv.enforcer.api;

import dev.genv.enforcer.api.connection.ClientConnection;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.api.plan.PlanMemory;
import dev.genv.enforcer.api.plan.PlanResource;
import dev.genv.enforcer.api.report.ReportResource;
import dev.genv.enforcer.api.report.UsersResource;
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
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;

/**
 * Refuses invalid requests, request bodies, which only plan requests need, and requests above the number that is answered at the same
 * time. Every user of the machine can send them, so they are not logged.
 *
 * <p>That number limits responses whose size users choose, because each is in memory until the client has read it. A plan also
 * occupies a thread while its request arrives, and a processor until it is computed.
 */
@Singleton
public class RequestLimits {
    private static final int AFTER_THE_TOKEN = 900;
    /** For clients that send an empty object with every request. */
    private static final int LARGEST_OTHER = 1024;

    private static final String INVALID_REQUEST = "this is not a valid request";

    private static final int MAX_CONCURRENT = 3;
    /** An address is that of a proxy, unless the settings of Quarkus have it name its clients. */
    private static final int MAX_OF_AN_ADDRESS = 2;

    /** How long a report waits until others are read. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(4);

    private static final Duration RETRY = Duration.ofMillis(100);

    /** Suffixes that lead to the same resource: matrix parameters, and a slash at the end. */
    private static final Pattern IGNORED = Pattern.compile(";[^/]*|/+(;[^/]*)?$");

    /** The default of Quarkus. */
    private static final String METRICS = "/q/metrics";

    private static final String USERS = UsersResource.PATH + "/";

    private final Map<String, ClientSlots> slots = new HashMap<>();
    private final Duration longestWait;

    @Inject
    RequestLimits() {
        this(LONGEST_WAIT);
    }

    RequestLimits(Duration longestWait) {
        this.longestWait = longestWait;
        for (var path : List.of(
                ServiceResource.SNAPSHOT, ViolationsResource.PATH, UsersResource.PATH, ReportResource.PATH, METRICS)) {
            slots.put(path, new ClientSlots(MAX_CONCURRENT, MAX_OF_AN_ADDRESS));
        }
        slots.put(PlanResource.PATH, new ClientSlots(PlanResource.MAX_CONCURRENT, MAX_OF_AN_ADDRESS));
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

    void check(RoutingContext request) {
        request.addEndHandler(_ -> HttpErrors.closeIfBodyFollows(request));
        if (!isUri(request.request().uri())) {
            HttpErrors.send(
                    request, 400, "the request target is no URI; perhaps a character in it must be percent-encoded");
            return;
        }
        var largest = isPlan(request) ? PlanMemory.largestBody() : LARGEST_OTHER;
        if (request.request().headers().contains(HttpHeaders.TRANSFER_ENCODING)) {
            // The end of a body without a length is not looked for.
            HttpErrors.send(request, 411, "a body needs the header Content-Length");
        } else if (declaredLength(request) > largest) {
            HttpErrors.send(request, 413, "the body is larger than %d bytes".formatted(largest));
        } else {
            takeSlot(request);
        }
    }

    private void takeSlot(RoutingContext request) {
        var path = IGNORED.matcher(request.normalizedPath()).replaceAll("");
        if (path.equals(METRICS)) {
            // Otherwise Quarkus answers in OpenMetrics, which fewer tools read, or refuses the client.
            request.request().headers().set(HttpHeaders.ACCEPT, "text/plain");
        }
        var ofPath = slots.get(path.startsWith(USERS) ? UsersResource.PATH : path);
        if (ofPath == null) {
            request.next();
            return;
        }
        takeSlot(request, ofPath, path.equals(ReportResource.PATH) ? longestWait : Duration.ZERO);
    }

    private static void takeSlot(RoutingContext request, ClientSlots ofPath, Duration patience) {
        if (request.response().closed()) {
            return;
        }
        var slot = ofPath.take(ClientConnection.address(request));
        if (slot.isEmpty() && patience.isPositive()) {
            request.vertx().setTimer(RETRY.toMillis(), _ -> takeSlot(request, ofPath, patience.minus(RETRY)));
            return;
        }
        if (slot.isEmpty()) {
            HttpErrors.send(request, 503, "too many clients wait for this response; try again soon");
            return;
        }
        slot.get().attachTo(request);
        var isEnded = new AtomicBoolean(); // an end and an exception call the handler twice
        request.addEndHandler(_ -> {
            if (isEnded.compareAndSet(false, true)) {
                slot.get().close();
            }
        });
        request.next();
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
}
