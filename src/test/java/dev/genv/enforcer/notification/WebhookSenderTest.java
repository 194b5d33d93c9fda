package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.notice;
import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.drip;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.hang;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Sender.Message;
import dev.genv.enforcer.notification.Sender.Reply;
import dev.genv.enforcer.notification.Sender.ReplyKind;
import dev.genv.enforcer.notification.WebhookBodies.WebhookFormat;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** With a real receiver. OutboxTest shows when events are sent. */
class WebhookSenderTest {
    private static final Duration LONG = Duration.ofMinutes(3);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Notice NOTICE = acted(violationOf(process(812).uid(1003)));

    private static Vertx vertx;

    @TempDir
    Path folder;

    private final FakeTime time = new FakeTime();
    private WebhookFormat format = WebhookFormat.CLOUDEVENTS;
    private ScriptedReceiver receiver;

    @BeforeAll
    static void openVertx() {
        vertx = Vertx.vertx();
    }

    @AfterAll
    static void closeVertx() {
        vertx.close();
    }

    @BeforeEach
    void open() throws IOException {
        receiver = new ScriptedReceiver(status(200));
    }

    @AfterEach
    void close() throws IOException {
        receiver.close();
    }

    private Reply send(Duration timeout) throws InterruptedException {
        return send(sender(receiver.port(), Optional.empty(), timeout));
    }

    private static Reply send(WebhookSender sender) throws InterruptedException {
        return sender.send(new Message("", List.of(NOTICE), 0));
    }

    private WebhookSender sender(int port, Optional<SecretFile> secret, Duration timeout) {
        return new WebhookSender(
                vertx,
                URI.create("http://127.0.0.1:%d/hook?key=1".formatted(port)),
                secret,
                bodies(),
                Set.of(NoticeKind.values()),
                timeout,
                time.ticker());
    }

    WebhookBodies bodies() {
        return new WebhookBodies(
                format,
                URI.create("urn:genv-enforcer:gpu-1"),
                Optional.of(URI.create("https://gpus.example.org")),
                JSON,
                this::view,
                action -> Map.of("outcome", action.outcome().label()));
    }

    /** Some of what the API shows. */
    private Map<String, String> view(ViolationRecord violation) {
        return Map.of("id", violation.id(), "message", violation.violation().message());
    }

    @ParameterizedTest
    @CsvSource({
        "204,,ACCEPTED,",
        "500,,FAILED,",
        "401,,FAILED,",
        "404,,FAILED,",
        "408,,FAILED,",
        "400,,REFUSED,",
        "413,,REFUSED,",
        "422,,REFUSED,",
        "410,,GONE,",
        "429,120,FAILED,PT2M",
        "503,'Fri, 20 Nov 2026 15:00:00 GMT',FAILED,PT5H37M32S"
    })
    void statusSaysWhatBecomesOfAnEvent(int status, @Nullable String after, ReplyKind kind, @Nullable Duration asked)
            throws Exception {
        receiver.use(after == null ? status(status) : status(status, "Retry-After: " + after));
        var reply = send(LONG);
        assertThat(reply.kind()).isEqualTo(kind);
        assertThat(reply.why()).contains(kind == ReplyKind.ACCEPTED ? "" : "status " + status);
        assertThat(reply.asked()).isEqualTo(Optional.ofNullable(asked));
    }

    @Test
    void sendsACloudEventWithItsHeaders() throws Exception {
        receiver.use(status(204));
        assertThat(send(LONG)).isEqualTo(Reply.ACCEPTED);

        var request = receiver.requests().getFirst();
        assertThat(request.line()).isEqualTo("POST /hook?key=1 HTTP/1.1");
        assertThat(request.headers())
                .containsEntry("content-type", "application/cloudevents+json; charset=UTF-8")
                .containsEntry("webhook-id", "id-1-7")
                .containsEntry("webhook-timestamp", Long.toString(FakeTime.START.getEpochSecond()))
                .doesNotContainKey("webhook-signature");
        assertThat(request.body()).isEqualTo("""
                    {"specversion":"1.0","id":"id-1-7","source":"urn:genv-enforcer:gpu-1",
                    "type":"dev.genv.enforcer.violation.acted.v1","time":"2026-11-20T09:22:28Z","subject":"id-1",
                    "datacontenttype":"application/json",
                    "data":{"violation":VIOLATION,"action":{"outcome":"signalled"}},
                    "text":"gpu-1: terminate process 812 with SIGTERM, signalled, rule non-env-processes (enforce):
                     `Process 812 is not running in a GPU environment` https://gpus.example.org/#/violations/id-1"}\
                    """.replace("\n", "")
                .replace("VIOLATION", JSON.writeValueAsString(view(NOTICE.violation()))));
    }

    @Test
    void sendsToAChatOnlyATextAndOnePostForOneIncident() throws Exception {
        format = WebhookFormat.TEXT;
        send(LONG);
        var request = receiver.requests().getFirst();
        assertThat(request.headers()).containsEntry("content-type", "application/json; charset=UTF-8");
        assertThat(JSON.readTree(request.body()).has("specversion")).isFalse();

        var notices = new ArrayList<Notice>();
        for (var pid = 1; pid <= 3; pid++) {
            var its = violationOf(process(pid)).id("v" + pid).rule(KnownRules.ENV_DEVICES);
            notices.add(notice(opened(its)).orElseThrow());
            notices.add(notice(action(its, pid, Outcome.SIGNALLED)).orElseThrow());
        }
        var sender = sender(1, Optional.empty(), LONG);
        assertThat(notices.stream().flatMap(notice -> sender.recipients(notice).known().keySet().stream()))
                .containsOnly("env-devices [gpu-1] null");
        assertThat(bodies().chatText(notices))
                .startsWith("gpu-1: terminate processes 1, 2, 3 with SIGTERM, signalled, rule env-devices (enforce): `")
                .endsWith(" https://gpus.example.org/#/violations");

        format = WebhookFormat.CLOUDEVENTS;
        assertThat(sender(1, Optional.empty(), LONG).recipients(NOTICE).known()).containsOnlyKeys("id-1-7");
    }

    @Test
    void sendsOnlyTheChosenEvents() {
        var sender = new WebhookSender(
                vertx,
                URI.create("http://x"),
                Optional.empty(),
                bodies(),
                Set.of(NoticeKind.OPENED),
                LONG,
                time.ticker());
        assertThat(sender.recipients(NOTICE).known()).isEmpty();
    }

    /** With the commands of operate.md. */
    @ParameterizedTest
    @ValueSource(strings = {"s3cret", "whsec_czNjcmV0AAECAwQ="})
    void signsIdTimeAndBody(String secret) throws Exception {
        var file = Files.writeString(folder.resolve("secret"), secret + "\n");
        send(sender(receiver.port(), Optional.of(new SecretFile(file)), LONG));
        var request = receiver.requests().getFirst();
        Files.writeString(folder.resolve("body"), request.body());
        var openssl = new ProcessBuilder("sh", "-c", command(secret)).directory(folder.toFile());
        openssl.environment().put("secret", secret);
        openssl.environment().put("id", request.headers().get("webhook-id"));
        openssl.environment().put("timestamp", request.headers().get("webhook-timestamp"));
        var signature = new String(openssl.start().getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
        assertThat(request.headers()).containsEntry("webhook-signature", "v1," + signature.strip());
    }

    /** Returns the commands of the page for this kind of secret. */
    private static String command(String secret) throws IOException {
        var blocks = Files.readString(Path.of("src/site/markdown/operate.md")).split("```", -1);
        return Arrays.stream(blocks)
                .filter(block -> block.contains("openssl dgst"))
                .filter(block -> block.contains("whsec_") == secret.startsWith("whsec_"))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @CsvSource({"whsec_, after whsec_ it has no key", ", No such file"})
    void secretThatCannotBeUsedIsAFailureAndNothingIsSent(@Nullable String secret, String why) throws Exception {
        var file = folder.resolve("secret");
        if (secret != null) {
            Files.writeString(file, secret);
        }
        var reply = send(sender(receiver.port(), Optional.of(new SecretFile(file)), LONG));
        assertThat(reply.kind()).isEqualTo(ReplyKind.FAILED);
        assertThat(reply.why()).contains(why);
        assertThat(receiver.requests()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {303, 307})
    void redirectIsNotFollowed(int status) throws Exception {
        try (var other = new ScriptedReceiver(status(200))) {
            receiver.use(status(status, "Location: http://127.0.0.1:%d/".formatted(other.port())));
            assertThat(send(LONG).kind()).isEqualTo(ReplyKind.FAILED);
            assertThat(other.requests()).isEmpty();
        }
    }

    @Test
    void answerWithoutEndIsNotReadAndOneWithoutEndOfItsHeadIsAFailure() throws Exception {
        receiver.use(endless("HTTP/1.1 200 OK\r\n\r\n"));
        assertThat(send(LONG)).isEqualTo(Reply.ACCEPTED);
        await().until(() -> receiver.closedByClient() == 1);

        receiver.use(endless("HTTP/1.1 200 OK\r\nX: "));
        assertThat(send(LONG).kind()).isEqualTo(ReplyKind.FAILED);
    }

    @Test
    void answerWhoseBodyIsStillToComeIsNoError() throws Exception {
        try (var log = LogRecords.of("io.vertx")) {
            receiver.use((_, out) -> {
                out.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                Thread.sleep(Long.MAX_VALUE);
            });
            assertThat(send(LONG)).isEqualTo(Reply.ACCEPTED);
            await().until(() -> receiver.closedByClient() == 1);
            assertThat(log.lines()).isEmpty();
        }
    }

    private static ScriptedReceiver.Script endless(String begin) {
        return (_, out) -> {
            out.write(begin.getBytes(StandardCharsets.ISO_8859_1));
            while (true) {
                out.write("x".repeat(1 << 12).getBytes(StandardCharsets.ISO_8859_1));
            }
        };
    }

    /** Otherwise each attempt would leave a connection. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void connectionWithoutAnAnswerIsClosedAfterTheTimeLimit(boolean drips) {
        receiver.use(drips ? drip() : hang());
        await("on a busy machine an attempt may end before it has connected").until(() -> {
            assertThat(send(Duration.ofMillis(500)).kind()).isEqualTo(ReplyKind.FAILED);
            return receiver.closedByClient() > 0;
        });
    }

    @Test
    void unreachableReceiverIsAFailure() throws Exception {
        try (var reserved = new Socket()) { // nobody else gets the port, and nobody listens on it
            reserved.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertThat(send(sender(reserved.getLocalPort(), Optional.empty(), LONG))
                            .kind())
                    .isEqualTo(ReplyKind.FAILED);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "0,0",
        "120,120",
        "' 120 ',120",
        "999999999,3600",
        "'Fri, 20 Nov 2026 09:24:28 GMT',120",
        "'Fri, 20 Nov 2026 09:00:00 GMT',0",
        "'Sat, 20 Nov 2027 09:00:00 GMT',3600",
        ",",
        "'',",
        "-1,",
        "1.5,",
        "soon,",
        "99999999999,",
        "'Fri, 20 Nov 2026',"
    })
    void retryAfterIsATimeOfAtMostAnHourAndIgnoredIfItIsInvalid(@Nullable String value, @Nullable Long seconds) {
        assertThat(WebhookSender.retryAfter(value, FakeTime.START, Duration.ofHours(1)))
                .isEqualTo(Optional.ofNullable(seconds).map(Duration::ofSeconds));
    }

    /** Users choose the length of a message, and many receivers refuse a larger body. */
    @Test
    void violationAbove64KibIsReduced() throws IOException {
        var event = event("x".repeat(WebhookBodies.LARGEST - 2_000));
        assertThat(event.at("/data/violation/message").asText()).hasSize(WebhookBodies.LARGEST - 2_000);
        assertThat(event.path("data").has("reduced")).isFalse();

        var reduced = event("x".repeat(WebhookBodies.LARGEST));
        assertThat(reduced.toString()).hasSizeLessThan(4096);
        assertThat(reduced.path("type").asText()).isEqualTo("dev.genv.enforcer.violation.acted.v1");
        assertThat(reduced.path("data")).isEqualTo(JSON.readTree("""
            {"violation": {"id": "id-1", "rule": "non-env-processes", "host": "gpu-1",
                           "status": "active", "mode": "enforce"},
             "reduced": true}\
            """));
        assertThat(reduced.path("text").asText()).startsWith("gpu-1: terminate process 812");
    }

    private JsonNode event(String message) throws IOException {
        return JSON.readTree(bodies().of(List.of(acted(violationOf(process(812)).message(message)))));
    }

    private static Notice acted(ViolationBuilder violation) {
        return notice(action(violation, 812, Outcome.SIGNALLED)).orElseThrow();
    }

    @Test
    void manyMachinesAreCut() {
        var hosts =
                IntStream.range(0, 10_000).mapToObj(number -> "gpu-" + number).toArray(String[]::new);
        var text = bodies().chatText(List.of(
                notice(opened(violationOf(process(812)).hosts(hosts))).orElseThrow()));
        assertThat(text).startsWith("gpu-0, gpu-1, ").hasSizeLessThan(500);
    }

    /** In Slack and Mattermost these would notify everybody, or show a link. */
    @Test
    void textOfUsersNotifiesNobody() {
        var evil = violationOf(process(812))
                .message("a`<!channel> <http://evil|x> & \u001b[1m\n@all " + "x".repeat(9_000));
        var text = bodies().chatText(List.of(notice(opened(evil)).orElseThrow()));
        assertThat(text).doesNotContainPattern("[<>&\\p{Cntrl}]").hasSizeLessThan(500);
        assertThat(text.chars().filter(each -> each == '`'))
                .as("one code span around it")
                .hasSize(2);
        assertThat(text).endsWith("` https://gpus.example.org/#/violations/id-1");
    }
}
