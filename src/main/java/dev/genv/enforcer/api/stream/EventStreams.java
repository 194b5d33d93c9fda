package dev.genv.enforcer.api.stream;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.api.query.QueryParameters;
import dev.genv.enforcer.api.query.ViolationFilter;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.api.security.HttpErrors;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Server-sent events. These paths are routes of Vert.x and no resources: only a route shows how many bytes wait for a client, which
 * must be known before more is written.
 */
@Singleton
public class EventStreams {
    static final String EVENTS = "/events";
    static final String VIOLATIONS = "/violations/stream";
    static final String TYPE = "text/event-stream";

    /** The same as the header, for clients that cannot set one. */
    private static final String LAST_EVENT_ID = "last_event_id";

    private static final Set<String> PARAMETERS = Set.of("rule", "user", "host", LAST_EVENT_ID);
    /** In seconds: a slot becomes free when a client disconnects. */
    private static final String RETRY_AFTER = "10";
    /** Before the observer that waits for the end of the last cycle. */
    private static final int FIRST = 1;

    private final EventLog log;
    private final EventFrames frames;
    private final EventReaders readers;

    @Inject
    EventStreams(EventLog log, ObjectMapper json, MeterRegistry registry) {
        this(
                log,
                json,
                new EventReaders(
                        EventReaders.HEARTBEAT,
                        new ClientSlots(EventReaders.MAX_READERS, EventReaders.MAX_OF_AN_ADDRESS)));
        Gauge.builder("genv.enforcer.stream.readers", readers, EventReaders::count)
                .description("Clients that follow the events")
                .register(registry);
        FunctionCounter.builder("genv.enforcer.stream.readers.refused", readers, EventReaders::refused)
                .description("Clients that were refused because too many follow the events")
                .register(registry);
    }

    EventStreams(EventLog log, ObjectMapper json, EventReaders readers) {
        this.log = log;
        frames = new EventFrames(log, json);
        this.readers = readers;
    }

    void register(@Observes Router router) {
        router.route(EVENTS).handler(request -> handle(request, EventFilter::of));
        router.route(VIOLATIONS).handler(request -> handle(request, EventFilter::ofViolations));
    }

    /** A client that follows the events must not delay the end of the service. */
    void stop(@Observes @Priority(FIRST) ShutdownEvent event) {
        readers.stop();
    }

    EventReaders readers() {
        return readers;
    }

    EventFrames frames() {
        return frames;
    }

    private void handle(RoutingContext request, Function<QueryParameters, EventFilter> filter) {
        try {
            if (isGet(request) && accepts(request)) {
                follow(request, filter);
            }
        } catch (ApiException e) {
            HttpErrors.send(request, e.status(), String.valueOf(e.getMessage()));
        }
    }

    private static boolean isGet(RoutingContext request) {
        var method = request.request().method();
        if (method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD)) {
            return true;
        }
        request.response().putHeader(HttpHeaders.ALLOW, "GET, HEAD");
        HttpErrors.send(request, 405, HttpErrors.NO_SUCH_METHOD);
        return false;
    }

    private static boolean accepts(RoutingContext request) {
        var accepted = request.parsedHeaders().accept();
        if (accepted.isEmpty() || accepted.stream().anyMatch(EventStreams::isStream)) {
            return true;
        }
        HttpErrors.send(request, 406, "the answer is of the type " + TYPE);
        return false;
    }

    private static boolean isStream(MIMEHeader accepted) {
        return accepted.weight() > 0
                && Set.of("text", "*").contains(accepted.component())
                && Set.of("event-stream", "*").contains(accepted.subComponent());
    }

    private void follow(RoutingContext request, Function<QueryParameters, EventFilter> filter) {
        var parameters = new QueryParameters(query(request), PARAMETERS);
        var source = new EventReader.Source(log, frames, filter.apply(parameters));
        var known = lastEventId(request, parameters);
        var response = request.response();
        response.putHeader(HttpHeaders.CONTENT_TYPE, TYPE)
                .putHeader(HttpHeaders.CACHE_CONTROL, "no-store")
                .putHeader("X-Accel-Buffering", "no"); // nginx would hold events back
        if (request.request().method().equals(HttpMethod.HEAD)) {
            response.end();
            return;
        }
        response.setChunked(true);
        if (!readers.add(request, source, known)) {
            response.setChunked(false).putHeader("Retry-After", RETRY_AFTER);
            HttpErrors.send(
                    request, 503, "too many clients follow the events, in all or from this address; try again later");
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
     * The events that a reader receives.
     *
     * @param others which hosts' problems, and whether the start of the service; null for events of violations only
     */
    record EventFilter(
            Predicate<ViolationRecord> violations, @Nullable Predicate<@Nullable String> others)
            implements Predicate<Event> {

        /** Selects the events of violations. */
        static EventFilter ofViolations(QueryParameters parameters) {
            return new EventFilter(ViolationFilter.subject(parameters), null);
        }

        /** Selects events of all kinds. A rule and a user belong to violations only. */
        static EventFilter of(QueryParameters parameters) {
            var host = parameters.get("host");
            var onlyViolations = parameters.get("rule") != null || parameters.get("user") != null;
            return new EventFilter(
                    ViolationFilter.subject(parameters),
                    onlyViolations ? null : its -> host == null || host.equals(its));
        }

        @Override
        public boolean test(Event event) {
            return switch (event.content()) {
                case EventContent.ViolationOpened(var violation) -> violations.test(violation);
                case EventContent.ActionRecorded(var violation, var _) -> violations.test(violation);
                case EventContent.ViolationResolved(var violation) -> violations.test(violation);
                case EventContent.ProblemBegan(var host, var _) -> others != null && others.test(host);
                case EventContent.ProblemEnded(var host, var _) -> others != null && others.test(host);
                case EventContent.ServiceStarted _ -> others != null && others.test(null);
            };
        }
    }
}
