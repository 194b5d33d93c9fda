package dev.genv.enforcer.api.stream;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import dev.genv.enforcer.api.AsciiJsonCustomizer;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.sse.SseClient;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.ext.web.Router;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/** A server with the event streams only. */
abstract class StreamFixture {
    static final Instant AT = Instant.parse("2026-11-20T09:22:28Z");

    EventLog log = new EventLog();
    Duration heartbeat = HANG;
    private final Vertx vertx = Vertx.vertx();
    private final List<SseClient> clients = new ArrayList<>();
    private @Nullable EventStreams streams;
    private @Nullable HttpServer server;

    @AfterEach
    void close() throws Exception {
        clients.forEach(SseClient::close);
        vertx.close().toCompletionStage().toCompletableFuture().get(HANG.toSeconds(), TimeUnit.SECONDS);
    }

    static ObjectMapper json() {
        var json = new ObjectMapper()
                .registerModule(new JavaTimeModule())
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);
        new AsciiJsonCustomizer().customize(json);
        return json;
    }

    EventStreams streams() {
        var known = streams;
        if (known == null) {
            known = new EventStreams(log, json(), heartbeat, new ClientSlots(64, EventStreams.MAX_OF_AN_ADDRESS));
            streams = known;
        }
        return known;
    }

    int port() throws Exception {
        var running = server;
        if (running == null) {
            var router = Router.router(vertx);
            streams().register(router);
            running = vertx.createHttpServer()
                    .requestHandler(router)
                    .listen(0, "localhost")
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get(HANG.toSeconds(), TimeUnit.SECONDS);
            server = running;
        }
        return running.actualPort();
    }

    SseClient connect(String target, String... headers) throws Exception {
        try {
            var client = SseClient.connect(port(), target, headers);
            clients.add(client);
            return client;
        } catch (IOException e) {
            throw new AssertionError(target, e);
        }
    }

    void append(EventContent... contents) {
        log.append(AT, List.of(contents));
    }

    String id(long sequence) {
        return new EventId(log.stream(sequence), sequence).toString();
    }

    static EventContent opened(String user, String host) {
        return new EventContent.ViolationOpened(violation(KnownRules.ENV_MEMORY, user, host, "it is so"));
    }

    static EventContent problem(String host) {
        return new EventContent.ProblemBegan(host, new Problem(ProblemCode.BUSY, "it is busy"));
    }

    static ViolationRecord violation(RuleDefinition rule, String user, String host, String message) {
        var violation = new Violation(
                rule,
                host,
                "process 7",
                message,
                user,
                "a",
                List.of(0),
                List.of(process(7).uses(0).build()));
        return ViolationRecord.begin(violation, RuleMode.ENFORCE, AT, new ViolationRecord.Recency(1, AT), List.of());
    }
}
