package dev.genv.enforcer.api.stream;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.connection.ClientConnection;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.api.connection.ClientSlots.Slot;
import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.query.ViolationFilter;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.security.HttpErrors;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.quarkus.runtime.ShutdownEvent;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.ext.web.MIMEHeader;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.HttpException;
import jakarta.annotation.Priority;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Server-sent events. The path is a route of Vert.x and no resource: a resource would write each event anew for each reader, and only a
 * route shows how many bytes wait for a client.
 */
@Singleton
public class EventStreams {
    /** A large share, because all clients behind a proxy have the same address. */
    static final int MAX_OF_AN_ADDRESS = 32;
    /** Each takes a connection and at most the bytes of its buffer and of one event. */
    private static final int MAX_READERS = 64;
    /** Less than the usual time limits of proxies. */
    static final Duration HEARTBEAT = Duration.ofSeconds(15);

    private static final String PATH = "/events";

    private static final String TYPE = "text/event-stream";

    /** The same as the header, for clients that cannot set one. */
    private static final String LAST_EVENT_ID = "last_event_id";

    private static final Set<String> PARAMETERS = Set.of("rule", "user", "host", LAST_EVENT_ID);
    /** In seconds: a slot becomes free when a client disconnects. */
    private static final String RETRY_AFTER = "10";
    /** Before the observer that waits for the end of the last cycle. */
    private static final int FIRST = 1;

    private final EventLog log;
    private final Duration heartbeat;
    final EventFrames frames;
    final ClientSlots slots;
    final Set<EventReader> readers = ConcurrentHashMap.newKeySet();
    private volatile boolean stopped;

    @Inject
    EventStreams(EventLog log, ObjectMapper json, MeterRegistry registry) {
        this(log, json, HEARTBEAT, new ClientSlots(MAX_READERS, MAX_OF_AN_ADDRESS));
        Gauge.builder("genv.enforcer.stream.readers", readers, Set::size)
                .description("Clients that follow the events")
                .register(registry);
        FunctionCounter.builder("genv.enforcer.stream.readers.refused", slots, ClientSlots::refused)
                .description("Clients that were refused because too many follow the events")
                .register(registry);
    }

    EventStreams(EventLog log, ObjectMapper json, Duration heartbeat, ClientSlots slots) {
        this.log = log;
        frames = new EventFrames(log, json);
        this.heartbeat = heartbeat;
        this.slots = slots;
    }

    void register(@Observes Router router) {
        router.route(PATH).handler(this::handle);
        // For clients that know only this path.
        router.get("/violations/stream").handler(EventStreams::redirect);
        router.head("/violations/stream").handler(EventStreams::redirect);
    }

    /** Disconnects all clients, and admits no further one: they must not delay the end of the service. */
    void stop(@Observes @Priority(FIRST) ShutdownEvent event) {
        stopped = true;
        readers.forEach(EventReader::close);
    }

    private static void redirect(RoutingContext request) {
        var query = request.request().query();
        request.response()
                .setStatusCode(HttpResponseStatus.MOVED_PERMANENTLY.code())
                .putHeader(HttpHeaders.LOCATION, query == null ? PATH : PATH + "?" + query)
                .end();
    }

    private void handle(RoutingContext request) {
        try {
            checkMethod(request);
            checkAccept(request);
            follow(request);
        } catch (ApiException e) {
            HttpErrors.send(request, e);
        }
    }

    private static void checkMethod(RoutingContext request) {
        if (!Set.of(HttpMethod.GET, HttpMethod.HEAD).contains(request.request().method())) {
            request.response().putHeader(HttpHeaders.ALLOW, "GET, HEAD");
            throw new ApiException(405, HttpErrors.NO_SUCH_METHOD);
        }
    }

    private static void checkAccept(RoutingContext request) {
        var accepted = request.parsedHeaders().accept();
        if (!accepted.isEmpty() && accepted.stream().noneMatch(EventStreams::isStream)) {
            throw new ApiException(406, "the answer is of the type " + TYPE);
        }
    }

    private static boolean isStream(MIMEHeader accepted) {
        return accepted.weight() > 0
                && Set.of("text", "*").contains(accepted.component())
                && Set.of("event-stream", "*").contains(accepted.subComponent());
    }

    private void follow(RoutingContext request) {
        var parameters = new QueryParameters(query(request), PARAMETERS);
        var source = new EventReader.Source(log, frames, filter(parameters));
        var known = lastEventId(request, parameters);
        var response = request.response();
        response.putHeader(HttpHeaders.CONTENT_TYPE, TYPE)
                .putHeader(HttpHeaders.CACHE_CONTROL, "no-store")
                .putHeader("X-Accel-Buffering", "no"); // nginx would hold events back
        if (request.request().method().equals(HttpMethod.HEAD)) {
            response.end();
            return;
        }
        var slot = stopped ? Optional.<Slot>empty() : slots.take(ClientConnection.address(request));
        if (slot.isEmpty()) {
            response.putHeader("Retry-After", RETRY_AFTER);
            throw new ApiException(
                    503, "too many clients follow the events, in all or from this address; try again later");
        }
        response.setChunked(true);
        var reader = new EventReader(request, source);
        readers.add(reader);
        reader.open(known, heartbeat, () -> {
            readers.remove(reader);
            slot.get().close();
        });
        if (stopped) {
            reader.close();
        }
    }

    /** The header comes first: a client that connects again has the same parameters as before, and a newer header. */
    private static @Nullable EventId lastEventId(RoutingContext request, QueryParameters parameters) {
        var header = request.request().headers().getAll(EventId.HEADER);
        if (header.size() > 1) {
            throw new ApiException(400, "the header %s is there more than once".formatted(EventId.HEADER));
        }
        if (!header.isEmpty() && !header.getFirst().isEmpty()) {
            return EventId.parse("the header " + EventId.HEADER, header.getFirst());
        }
        var parameter = parameters.get(LAST_EVENT_ID);
        return parameter == null ? null : EventId.parse("the parameter " + LAST_EVENT_ID, parameter);
    }

    private static Map<String, List<String>> query(RoutingContext request) {
        MultiMap query;
        try {
            query = request.queryParams();
        } catch (HttpException e) {
            throw new ApiException(400, "the query cannot be decoded");
        }
        return query.names().stream().collect(Collectors.toMap(Function.identity(), query::getAll));
    }

    /**
     * Returns which events a client receives. A rule and a user belong to violations only, so with one of them it receives neither
     * problems nor the start of the service.
     */
    private static Predicate<Event> filter(QueryParameters parameters) {
        var violations = ViolationFilter.subject(parameters);
        var host = parameters.get("host");
        var others = parameters.get("rule") == null && parameters.get("user") == null;
        return event -> switch (event.content()) {
            case EventContent.OfViolation content -> violations.test(content.violation());
            case EventContent.OfProblem content -> others && (host == null || host.equals(content.host()));
            case EventContent.PolicyChanged _, EventContent.ServiceStarted _ -> others && host == null;
        };
    }
}
