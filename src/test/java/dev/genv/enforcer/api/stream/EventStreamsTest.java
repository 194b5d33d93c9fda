package dev.genv.enforcer.api.stream;

import static dev.genv.enforcer.testsupport.TestTimeouts.HANG;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import dev.genv.enforcer.api.AsciiJsonCustomizer;
import dev.genv.enforcer.api.connection.ClientSlots;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.RuleDefinition.RuleMode;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.RawHttp;
import dev.genv.enforcer.testsupport.sse.SseClient;
import io.quarkus.runtime.ShutdownEvent;
import io.vertx.core.Vertx;
import io.vertx.ext.web.Router;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A server with the event streams only; its clients read, or do not. */
class EventStreamsTest {
    private static final Instant AT = Instant.parse("2026-11-20T09:22:28Z");
    private static final int READING = 15;
    private static final int STALLED = 5;
    private static final int EVENTS_OF_A_CYCLE = 20;
    /** Together they are more than the kernel keeps for a connection. */
    private static final int CYCLES = 100;

    private static final String TEXT = "x".repeat(10_000);

    /** The form of a chunk, and what is written before the queue counts as full. */
    private static final int OVERHEAD = 1 << 10;

    private final EventLog log = new EventLog();
    private final Vertx vertx = Vertx.vertx();
    private final List<SseClient> clients = new ArrayList<>();
    private EventStreams streams;
    private int port;

    @BeforeEach
    void start() throws Exception {
        start(HANG);
    }

    private void start(Duration heartbeat) throws Exception {
        streams = new EventStreams(log, json(), heartbeat, new ClientSlots(64, EventStreams.MAX_OF_AN_ADDRESS));
        var router = Router.router(vertx);
        streams.register(router);
        port = vertx.createHttpServer()
                .requestHandler(router)
                .listen(0, "localhost")
                .toCompletionStage()
                .toCompletableFuture()
                .get(HANG.toSeconds(), TimeUnit.SECONDS)
                .actualPort();
    }

    @AfterEach
    void close() throws Exception {
        clients.forEach(SseClient::close);
        vertx.close().toCompletionStage().toCompletableFuture().get(HANG.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void sendsEventsInTheirOrderFromTheConnectionOn() throws Exception {
        append(opened("raz", "gpu-1"));
        var client = connect("/events");
        await().until(client::lastId, id(1)::equals);
        append(opened("raz", "gpu-2"), problem("gpu-2"), new EventContent.ServiceStarted("1", "audit"));

        assertThat(client.response().headers().firstValue("Content-Type")).contains("text/event-stream");
        assertThat(client.response().headers().firstValue("Cache-Control")).contains("no-store");
        var first = client.next();
        assertThat(first.id()).isEqualTo(id(2));
        assertThat(first.type()).isEqualTo("violation_opened");
        assertThat(first.data())
                .contains("\"type\":\"violation_opened\"", "\"at\":\"%s\"".formatted(AT), "\"host\":\"gpu-2\"")
                .doesNotContain("\"problem\"");
        var second = client.next();
        assertThat(second.type()).isEqualTo("problem_began");
        assertThat(second.data()).contains("\"host\":\"gpu-2\"", "\"problem\":{\"code\":\"busy\"");
        assertThat(client.next().data()).contains("\"mode\":\"audit\"");
    }

    @Test
    void continuesAfterTheLastEventThatTheClientKnows() throws Exception {
        append(problem("a"), problem("b"), problem("c"));

        var client = connect("/events", EventId.HEADER, id(1));
        assertThat(client.next().id()).isEqualTo(id(2));
        assertThat(client.next().id()).isEqualTo(id(3));
        var fromTheStart = connect("/events?last_event_id=" + id(0));
        assertThat(fromTheStart.next().id()).isEqualTo(id(1));
        var header = connect("/events?last_event_id=" + id(0), EventId.HEADER, id(2));
        assertThat(header.next().id()).as("the header is newer").isEqualTo(id(3));
    }

    @ParameterizedTest
    @CsvSource({
        "/events?user=raz, 1 3 7",
        "/events?host=gpu-1, 1 2 5 7",
        "/events?rule=env-memory, 1 2 3 7",
        "/events?rule=env-devices, 4 8",
        "/events?user=raz&host=gpu-1, 1 7"
    })
    void filtersEvents(String target, String expected) throws Exception {
        append(
                opened("raz", "gpu-1"),
                opened("paul", "gpu-1"),
                opened("raz", "gpu-2"),
                new EventContent.ViolationResolved(violation(KnownRules.ENV_DEVICES, "paul", "gpu-2", "it is so")),
                problem("gpu-1"),
                problem("gpu-2"),
                // One of these is the last event of each stream, so that no other one can follow unseen.
                opened("raz", "gpu-1"),
                new EventContent.ViolationResolved(violation(KnownRules.ENV_DEVICES, "paul", "gpu-2", "it is so")));
        var client = connect(target, EventId.HEADER, id(0));
        var received = new ArrayList<String>();
        for (var count = expected.split(" ").length; count > 0; count--) {
            var event = client.next();
            received.add(event.id().substring(event.id().lastIndexOf('-') + 1));
        }

        assertThat(String.join(" ", received)).isEqualTo(expected);
    }

    @Test
    void aClientThatKnowsAnEventOfAnotherRunGetsAGap() throws Exception {
        append(problem("a"), problem("b"));
        for (var foreign : new String[] {new EventId(UUID.randomUUID(), 1).toString(), id(3)}) {
            assertGap(connect("/events", EventId.HEADER, foreign), 2, "other_run");
        }
    }

    private void assertGap(SseClient client, long sequence, String reason) throws Exception {
        var gap = client.next();
        assertThat(gap.type()).isEqualTo("gap");
        assertThat(gap.id()).isEqualTo(id(sequence));
        assertThat(data(gap).at("/reason").asText()).isEqualTo(reason);
    }

    @Test
    void aClientThatIsBehindTheLogGetsAGapAndThenNewEvents() throws Exception {
        for (var i = 0; i < EventLog.MAX_EVENTS + 2; i++) {
            append(problem("a"));
        }
        var client = connect("/events", EventId.HEADER, id(1));

        assertGap(client, EventLog.MAX_EVENTS + 2, "not_in_memory");
        append(problem("b"));
        assertThat(client.next().id()).isEqualTo(id(EventLog.MAX_EVENTS + 3));
    }

    @Test
    void anEventThatIsTooLargeIsAGap() throws Exception {
        var client = connect("/events");
        var large = violation(KnownRules.ENV_MEMORY, "raz", "a", "x".repeat(EventFrames.LARGEST));
        append(new EventContent.ViolationOpened(large), problem("a"));

        assertGap(client, 1, "too_large");
        assertThat(client.next().id()).isEqualTo(id(2));
    }

    @Test
    void textOfUsersCannotEndAnEvent() throws Exception {
        var client = connect("/events");
        var hostile = "a\n\nid: 7\rdata: b\u2028\u202e\u0000é";
        append(new EventContent.ViolationOpened(violation(KnownRules.ENV_MEMORY, hostile, hostile, hostile)));

        var event = client.next();
        assertThat(event.data()).isPrintable().isASCII();
        assertThat(data(event).at("/violation/user").asText()).isEqualTo(hostile);
        assertThat(client.lastId()).isEqualTo(id(1));
    }

    @Test
    void aHeartbeatPassesOnThePositionOfAClientWithoutEvents() throws Exception {
        start(Duration.ofMillis(20));
        var client = connect("/events?user=raz");
        append(problem("a"), problem("b"));

        await().until(client::lastId, id(2)::equals);
    }

    @Test
    void theNumberOfClientsOfAnAddressIsBounded() throws Exception {
        var clients = new ArrayList<SseClient>();
        for (var i = 0; i < EventStreams.MAX_OF_AN_ADDRESS; i++) {
            clients.add(connect("/events"));
            assertThat(clients.getLast().response().statusCode()).isEqualTo(200);
        }
        var refused = new RawHttp(port).get("/events");
        assertThat(refused.status()).isEqualTo(503);
        assertThat(refused.head().toLowerCase(Locale.ROOT))
                .contains("retry-after: 10", "content-type: application/problem+json");
        assertThat(streams.readers.size()).isEqualTo(EventStreams.MAX_OF_AN_ADDRESS);
        assertThat(streams.slots.refused()).isEqualTo(1);

        clients.getFirst().close();
        await().until(() -> connect("/events").response().statusCode() == 200);
    }

    @Test
    void theEndOfTheServiceEndsAllStreams() throws Exception {
        var client = connect("/events");
        append(problem("a"));
        client.next();
        streams.stop(new ShutdownEvent());

        assertThat(client.next().type()).isEqualTo("end");
        assertThat(new RawHttp(port).get("/events").status()).isEqualTo(503);
        await().until(() -> streams.readers.size() == 0);
    }

    @ParameterizedTest
    @CsvSource({
        "GET /events?statu=active,,400,the parameter statu is not known",
        "GET /events?rule=env_memory,,400,the parameter rule is",
        "GET /events?user=a&user=b,,400,the parameter user is there more than once",
        "GET /events?user=%zz,,400,the query cannot be decoded",
        "GET /events,Last-Event-ID: 42,400,the header Last-Event-ID is",
        "GET /events,Last-Event-ID: 00000000-0000-0000-0000-000000000000,400,the header Last-Event-ID is",
        "GET /events,Last-Event-ID: 00000000-0000-0000-0000-000000000000-99999999999999999999,400,the header",
        "GET /events?status=active,,400,the parameter status is not known",
        "GET /events?last_event_id=x,,400,the parameter last_event_id is",
        "POST /events,,405,Method Not Allowed",
        "DELETE /events,,405,Method Not Allowed",
        "GET /events,Accept: application/json,406,text/event-stream",
        "GET /events,Accept: text/event-stream;q=0,406,text/event-stream"
    })
    void everyMistakeIsProblemJson(String request, String header, int status, String detail) throws Exception {
        var answer = new RawHttp(port)
                .send(request + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        + (header == null ? "" : header + "\r\n") + "\r\n");

        assertThat(answer.status()).isEqualTo(status);
        assertThat(answer.text()).contains("application/problem+json", "\"status\": " + status);
        assertThat(answer.text()).contains(detail);
    }

    @ParameterizedTest
    @CsvSource({
        "GET,,/events",
        "GET,?user=raz&last_event_id=x,/events?user=raz&last_event_id=x",
        "GET,?user=%0D%0A,/events?user=%0D%0A",
        "HEAD,?rule=env-memory,/events?rule=env-memory"
    })
    void formerPathOfTheEventsOfViolationsLeadsToTheEvents(String method, @Nullable String query, String location)
            throws Exception {
        var answer = new RawHttp(port)
                .send("%s /violations/stream%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                        .formatted(method, query == null ? "" : query));

        assertThat(answer.status()).isEqualTo(301);
        assertThat(answer.head().lines().map(line -> line.toLowerCase(Locale.ROOT)))
                .contains("location: " + location.toLowerCase(Locale.ROOT));
    }

    private static JsonNode data(SseClient.Event event) throws Exception {
        return json().readTree(event.data());
    }

    @Test
    void clientsThatDoNotReadAreDisconnectedAndTheOthersGetEveryEvent() throws Exception {
        start(Duration.ofSeconds(1));
        var reading = new ArrayList<SseClient>();
        for (var i = 0; i < READING; i++) {
            reading.add(connect("/events"));
        }
        var stalled = new ArrayList<Socket>();
        for (var i = 0; i < STALLED; i++) {
            stalled.add(stall());
        }
        await().until(() -> streams.readers.size() == READING + STALLED);

        long largestQueue = 0;
        for (var cycle = 0; cycle < CYCLES; cycle++) {
            append(events());
            largestQueue = Math.max(largestQueue, largestQueue());
            for (var client : reading) {
                for (var number = 1; number <= EVENTS_OF_A_CYCLE; number++) {
                    var event = client.next();
                    assertThat(event.id()).isEqualTo(id((long) cycle * EVENTS_OF_A_CYCLE + number));
                    assertThat(event.type()).isEqualTo("violation_opened");
                }
            }
        }

        assertThat(largestQueue).isBetween(1L, (long) EventReader.QUEUE_BYTES + EventFrames.LARGEST + OVERHEAD);
        assertThat(streams.frames.bytes()).isBetween(1, EventFrames.MAX_BYTES);
        await().until(() -> streams.readers.size() == READING);
        for (var socket : stalled) {
            assertThat(isDisconnected(socket)).isTrue();
        }
    }

    @Test
    void theEndOfTheServiceDoesNotWaitForClientsThatDoNotRead() throws Exception {
        var socket = stall();
        await().until(() -> streams.readers.size() == 1);
        await().until(() -> {
            append(events());
            return largestQueue() >= EventReader.QUEUE_BYTES / 2;
        });

        streams.stop(new ShutdownEvent());
        await().until(() -> streams.readers.size() == 0);
        assertThat(isDisconnected(socket)).isTrue();
    }

    /** The bytes that wait for the client for which most are waiting. */
    private long largestQueue() {
        return streams.readers.stream()
                .mapToLong(EventReader::queuedBytes)
                .max()
                .orElse(0);
    }

    private static EventContent[] events() {
        return IntStream.range(0, EVENTS_OF_A_CYCLE)
                .mapToObj(_ -> new EventContent.ViolationOpened(violation(KnownRules.ENV_MEMORY, "raz", "a", TEXT)))
                .toArray(EventContent[]::new);
    }

    private Socket stall() throws Exception {
        var socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.setSoTimeout((int) HANG.toMillis());
        socket.connect(new InetSocketAddress(InetAddress.getByName("localhost"), port));
        socket.getOutputStream()
                .write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    private static boolean isDisconnected(Socket socket) throws IOException {
        try (socket) {
            var in = socket.getInputStream();
            var buffer = new byte[65536];
            while (in.read(buffer) >= 0) {
                // What the kernel has kept.
            }
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true; // a reset
        }
    }

    private static ObjectMapper json() {
        var json = new ObjectMapper()
                .registerModule(new JavaTimeModule())
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE);
        new AsciiJsonCustomizer().customize(json);
        return json;
    }

    private SseClient connect(String target, String... headers) throws Exception {
        try {
            var client = SseClient.connect(port, target, headers);
            clients.add(client);
            return client;
        } catch (IOException e) {
            throw new AssertionError(target, e);
        }
    }

    private void append(EventContent... contents) {
        log.append(AT, List.of(contents));
    }

    private String id(long sequence) {
        return new EventId(log.stream(sequence), sequence).toString();
    }

    private static EventContent opened(String user, String host) {
        return new EventContent.ViolationOpened(violation(KnownRules.ENV_MEMORY, user, host, "it is so"));
    }

    private static EventContent problem(String host) {
        return new EventContent.ProblemBegan(host, new Problem(ProblemCode.BUSY, "it is busy"));
    }

    private static ViolationRecord violation(RuleDefinition rule, String user, String host, String message) {
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
