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

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.notification.Delivery.Reply;
import dev.genv.enforcer.notification.Delivery.ReplyKind;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.WebhookBodies.WebhookFormat;
import dev.genv.enforcer.notification.WebhookDelivery.WebhookSender;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
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

/** A webhook whose receiver is real, and whose time is not. */
class WebhookDeliveryTest {
    private static final RandomGenerator NO_JITTER = () -> 0;
    private static final Duration LONG = Duration.ofMinutes(3);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Notice NOTICE = acted(violationOf(process(812).uid(1003)));

    private static Vertx vertx;

    @TempDir
    Path folder;

    final FakeTime time = new FakeTime();
    final EventLog log = new EventLog();
    DeliveryCursors cursors = new DeliveryCursors();
    WebhookFormat format = WebhookFormat.CLOUDEVENTS;
    Set<NoticeKind> kinds = Set.of(NoticeKind.values());
    ScriptedReceiver receiver;
    WebhookDelivery delivery;

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
        delivery = delivery();
    }

    @AfterEach
    void close() throws IOException {
        receiver.close();
    }

    void append(String... violations) {
        for (var id : violations) {
            log.append(
                    time.ticker().now(),
                    List.of(opened(violationOf(process(812)).id(id))));
        }
    }

    /** Appends an event that nobody needs to be informed of. */
    void appendOther() {
        log.append(time.ticker().now(), List.of(new EventContent.ServiceStarted("1", "audit")));
    }

    /** The ids of all requests, repetitions included. */
    List<String> ids() {
        return receiver.requests().stream()
                .map(request -> request.headers().get("webhook-id"))
                .toList();
    }

    /** A delivery that begins where the cursor is, as after a restart. */
    WebhookDelivery delivery() {
        var created =
                new WebhookDelivery(sender(LONG), kinds, cursors, time.ticker(), NO_JITTER, new SimpleMeterRegistry());
        created.begin(log);
        return created;
    }

    WebhookSender sender(Duration timeout) {
        return sender(receiver.port(), Optional.empty(), timeout);
    }

    WebhookSender sender(int port, Optional<SecretFile> secret, Duration timeout) {
        return new WebhookSender(
                vertx,
                URI.create("http://127.0.0.1:%d/hook?key=1".formatted(port)),
                secret,
                bodies(),
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
        if (violation.id().equals("defect")) {
            throw new IllegalStateException("a defect");
        }
        return Map.of("id", violation.id(), "message", violation.violation().message());
    }

    @Test
    void sendsEventsInTheirOrderAndEachOnce() throws Exception {
        append("a", "b");
        delivery.run(log);
        append("c");
        delivery.run(log);
        assertThat(ids()).containsExactly("a-1", "b-2", "c-3");
        assertThat(delivery.sent.count()).isEqualTo(3);
        assertThat(delivery.waiting()).isZero();
    }

    @Test
    void sendsNothingOfEventsFromBeforeItsFirstStart() throws Exception {
        append("a");
        cursors = new DeliveryCursors();
        var first = delivery();
        append("b");
        first.run(log);
        assertThat(ids()).containsExactly("b-2");
    }

    /** The database was removed, and the events are numbered from 1 again. */
    @Test
    void cursorAheadOfTheLogLosesNoNewEvent() throws Exception {
        cursors.store(WebhookDelivery.NAME, 1_000);
        var restarted = delivery();
        append("a");
        restarted.run(log);
        assertThat(ids()).containsExactly("a-1");
    }

    @Test
    void eventsThatAreNoLongerInMemoryAreCounted() throws Exception {
        receiver.use(status(500));
        append("a");
        delivery.run(log);
        for (var i = 0; i < EventLog.MAX_EVENTS; i++) {
            appendOther();
        }
        receiver.use(status(200));
        time.pass(Duration.ofSeconds(5));
        append("z");
        delivery.run(log);
        assertThat(delivery.dropped.count()).isEqualTo(2);
        assertThat(ids()).containsExactly("a-1", "z-" + (EventLog.MAX_EVENTS + 2));
    }

    /** The receiver did not accept the first event before the service was restarted. */
    @Test
    void restartBeforeTheFirstAcceptedEventLosesNone() throws Exception {
        receiver.use(status(500));
        append("a", "b");
        delivery.run(log);
        receiver.use(status(200));
        restart().run(log);
        assertThat(ids()).containsExactly("a-1", "a-1", "b-2");
    }

    /** They would be counted as lost if the position stayed before them until there are more than the memory has. */
    @Test
    void eventsWithoutAMessageAreNotLostAtARestart() throws Exception {
        for (var i = 0; i <= EventLog.MAX_EVENTS; i++) {
            appendOther();
        }
        delivery.run(log);
        appendOther();
        var restarted = restart();
        restarted.run(log);
        assertThat(restarted.dropped.count()).isZero();
    }

    /** A delivery in another run of the service, which knows only what the database has. */
    private WebhookDelivery restart() {
        var saved = cursors.save();
        cursors = new DeliveryCursors();
        cursors.restore(saved);
        return delivery();
    }

    @Test
    void failedEventIsRepeatedWithGrowingPausesAndNoOtherOvertakesIt() throws Exception {
        receiver.use(status(500));
        append("a", "b");
        assertThat(delivery.run(log)).isEqualTo(Duration.ofSeconds(5));
        time.pass(Duration.ofSeconds(4));
        assertThat(delivery.run(log)).isEqualTo(Duration.ofSeconds(1));
        time.pass(Duration.ofSeconds(1));
        assertThat(delivery.run(log)).isEqualTo(Duration.ofSeconds(10));
        time.pass(Duration.ofSeconds(10));
        receiver.use(status(200));
        delivery.run(log);
        assertThat(ids()).containsExactly("a-1", "a-1", "a-1", "b-2");
        assertThat(delivery.retried.count()).isEqualTo(2);
    }

    @Test
    void thirdFailureIsAProblemUntilTheNextSuccess() throws Exception {
        receiver.use(status(500));
        append("a");
        for (var pause : List.of(5, 10, 20)) {
            assertThat(delivery.problem()).isEmpty();
            delivery.run(log);
            time.pass(Duration.ofSeconds(pause));
        }
        assertThat(delivery.problem()).contains("the receiver answered with the status 500");
        assertThat(delivery.waiting()).isEqualTo(1);
        assertThat(delivery.oldest()).isEqualTo(Duration.ofSeconds(35));
        receiver.use(status(200));
        delivery.run(log);
        assertThat(delivery.problem()).isEmpty();
        assertThat(delivery.oldest()).isZero();
    }

    /** Not earlier than the service would try by itself. */
    @ParameterizedTest
    @CsvSource({"429, 120, PT2M", "503, 'Fri, 20 Nov 2026 15:00:00 GMT', PT5H37M32S", "429, 0, PT5S"})
    void receiverSaysWhenToTryAgain(int status, String after, Duration pause) throws Exception {
        receiver.use(status(status, "Retry-After: " + after));
        append("a");
        assertThat(delivery.run(log)).isEqualTo(pause);
    }

    @Test
    void goneReceiverGetsNothingUntilTheServiceIsRestarted() throws Exception {
        receiver.use(status(410));
        append("a");
        delivery.run(log);
        receiver.use(status(200));
        time.pass(Duration.ofDays(2));
        append("b");
        delivery.run(log);
        assertThat(ids()).containsExactly("a-1");
        assertThat(delivery.problem().orElseThrow()).contains("410").contains("restart");
        assertThat(delivery.failed.count()).isEqualTo(1);
    }

    /** Otherwise a receiver that was away for a week would first get the events of that week. */
    @Test
    void eventsOfADayAgoAreGivenUpWithoutFurtherAttempts() throws Exception {
        receiver.use(status(500));
        append("a", "b");
        delivery.run(log);
        time.pass(Duration.ofDays(1));
        append("c");
        delivery.run(log);
        assertThat(ids()).containsExactly("a-1", "c-3");
        assertThat(delivery.failed.count()).isEqualTo(2);
        assertThat(delivery.waiting()).isEqualTo(1);
    }

    /** Otherwise the receiver gets nothing for a day because of one event. */
    @ParameterizedTest
    @ValueSource(ints = {400, 413, 422})
    void eventThatTheReceiverRefusesIsGivenUpAfterThreeAttempts(int status) throws Exception {
        receiver.use(refusing("a", status));
        append("a", "b", "c");
        for (var pause : List.of(5, 10, 20)) {
            assertThat(delivery.run(log)).isEqualTo(Duration.ofSeconds(pause));
            time.pass(Duration.ofSeconds(pause));
        }
        assertThat(ids()).containsOnly("a-1").hasSize(3);
        assertThat(delivery.failed.count()).isEqualTo(1);
        assertThat(delivery.retried.count()).isEqualTo(2);
        assertThat(delivery.problem()).contains("the receiver answered with the status " + status);
        delivery.run(log);
        assertThat(ids()).containsExactly("a-1", "a-1", "a-1", "b-2", "c-3");
        assertThat(delivery.problem()).isEmpty();
    }

    /** A receiver that expects another format must not get each event at once. */
    @Test
    void pausesGrowOverEventsThatAreGivenUp() throws Exception {
        receiver.use(status(400));
        append("a", "b", "c");
        for (var pause : List.of(5, 10, 20, 40, 80, 160, 320)) {
            assertThat(delivery.run(log)).isEqualTo(Duration.ofSeconds(pause));
            time.pass(Duration.ofSeconds(pause));
        }
        assertThat(ids()).containsExactly("a-1", "a-1", "a-1", "b-2", "b-2", "b-2", "c-3");
    }

    @Test
    void restartContinuesAfterAnEventThatWasGivenUp() throws Exception {
        receiver.use(refusing("a", 422));
        append("a", "b");
        for (var attempt = 1; attempt <= 3; attempt++) {
            delivery.run(log);
            time.pass(Duration.ofMinutes(1));
        }
        delivery().run(log);
        assertThat(ids()).containsExactly("a-1", "a-1", "a-1", "b-2");
    }

    /** Another answer is one of the receiver as a whole, for example while it is restarted. */
    @Test
    void otherFailuresAreNoRefusals() throws Exception {
        append("a");
        for (var status : List.of(400, 500, 401, 403, 404, 400, 408, 503)) {
            receiver.use(status(status));
            delivery.run(log);
            time.pass(Duration.ofHours(1));
        }
        receiver.use(status(200));
        delivery.run(log);
        assertThat(delivery.failed.count()).isZero();
        assertThat(delivery.sent.count()).isEqualTo(1);
    }

    @Test
    void eventThatCannotBeWrittenIsGivenUpToo() throws Exception {
        append("defect", "b");
        for (var attempt = 1; attempt <= 3; attempt++) {
            delivery.run(log);
            time.pass(Duration.ofMinutes(1));
        }
        assertThat(delivery.failed.count()).isEqualTo(1);
        assertThat(delivery.problem().orElseThrow()).contains("IllegalStateException");
        delivery.run(log);
        assertThat(ids()).containsExactly("b-2");
    }

    private static ScriptedReceiver.Script refusing(String violation, int status) {
        return (request, out) -> {
            var isRefused = request.body().contains("\"subject\":\"%s\"".formatted(violation));
            status(isRefused ? status : 200).answer(request, out);
        };
    }

    @Test
    void sendsACloudEventWithItsHeaders() throws Exception {
        receiver.use(status(204));
        assertThat(sender(LONG).send(List.of(NOTICE))).isEqualTo(Reply.ACCEPTED);
        var request = receiver.requests().getFirst();
        assertThat(request.line()).isEqualTo("POST /hook?key=1 HTTP/1.1");
        assertThat(request.headers())
                .containsEntry("content-type", "application/cloudevents+json; charset=UTF-8")
                .containsEntry("webhook-id", "id-1-7")
                .containsEntry("webhook-timestamp", Long.toString(FakeTime.START.getEpochSecond()))
                .doesNotContainKey("webhook-signature");
        var event = JSON.readTree(request.body());
        assertThat(event.properties().stream().map(Map.Entry::getKey))
                .containsExactly(
                        "specversion", "id", "source", "type", "time", "subject", "datacontenttype", "data", "text");
        assertThat(event.path("specversion").asText()).isEqualTo("1.0");
        assertThat(event.path("id").asText()).isEqualTo("id-1-7");
        assertThat(event.path("type").asText()).isEqualTo("dev.genv.enforcer.violation.acted.v1");
        assertThat(event.path("time").asText()).isEqualTo("2026-11-20T09:22:28Z");
        assertThat(event.at("/data/violation/id").asText()).isEqualTo("id-1");
        assertThat(event.at("/data/action/outcome").asText()).isEqualTo("signalled");
        assertThat(event.path("text").asText())
                .isEqualTo(
                        "gpu-1: terminate process 812 with SIGTERM, signalled, rule non-env-processes (enforce):"
                                + " `Process 812 is not running in a GPU environment` https://gpus.example.org/#/violations/id-1");
    }

    @Test
    void sendsOnlyATextToChats() throws Exception {
        format = WebhookFormat.TEXT;
        sender(LONG).send(List.of(NOTICE));
        var request = receiver.requests().getFirst();
        assertThat(request.headers()).containsEntry("content-type", "application/json; charset=UTF-8");
        assertThat(JSON.readTree(request.body()).has("specversion")).isFalse();
    }

    @Test
    void sendsToAChatOnePostForOneIncident() throws Exception {
        format = WebhookFormat.TEXT;
        delivery = delivery();
        for (var pid = 1; pid <= 3; pid++) {
            var its = violationOf(process(pid)).id("v" + pid).rule(KnownRules.ENV_DEVICES);
            log.append(time.ticker().now(), List.of(opened(its), action(its, pid, Outcome.SIGNALLED)));
        }
        append("other");

        delivery.run(log);

        assertThat(receiver.requests())
                .extracting(
                        request -> JSON.readTree(request.body()).path("text").asText())
                .satisfiesExactly(
                        text -> assertThat(text)
                                .startsWith("gpu-1: terminate processes 1, 2, 3 with SIGTERM, signalled,"
                                        + " rule env-devices (enforce): `")
                                .endsWith(" https://gpus.example.org/#/violations"),
                        text -> assertThat(text).startsWith("gpu-1: violation, rule non-env-processes"));
        assertThat(ids()).containsExactly("v1-1", "other-7");
    }

    @Test
    void sendsOnlyTheChosenEvents() throws Exception {
        kinds = Set.of(NoticeKind.ACTED);
        delivery = delivery();
        append("a");
        log.append(time.ticker().now(), List.of(action(violationOf(process(812)).id("b"), 812, Outcome.SIGNALLED)));

        delivery.run(log);

        assertThat(ids()).containsExactly("b-2");
        assertThat(delivery.waiting()).isZero();
    }

    /** With the commands of operate.md. */
    @ParameterizedTest
    @ValueSource(strings = {"s3cret", "whsec_czNjcmV0AAECAwQ="})
    void signsIdTimeAndBody(String secret) throws Exception {
        var file = Files.writeString(folder.resolve("secret"), secret + "\n");
        sender(receiver.port(), Optional.of(new SecretFile(file)), LONG).send(List.of(NOTICE));
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
        var reply =
                sender(receiver.port(), Optional.of(new SecretFile(file)), LONG).send(List.of(NOTICE));
        assertThat(reply.kind()).isEqualTo(ReplyKind.FAILED);
        assertThat(reply.why()).contains(why);
        assertThat(receiver.requests()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {303, 307})
    void redirectIsNotFollowed(int status) throws Exception {
        try (var other = new ScriptedReceiver(status(200))) {
            receiver.use(status(status, "Location: http://127.0.0.1:%d/".formatted(other.port())));
            assertFails(sender(LONG));
            assertThat(other.requests()).isEmpty();
        }
    }

    @Test
    void answerWithoutEndIsNotRead() throws Exception {
        receiver.use(endless("HTTP/1.1 200 OK\r\n\r\n"));
        assertThat(sender(LONG).send(List.of(NOTICE))).isEqualTo(Reply.ACCEPTED);
        await().until(() -> receiver.closedByClient() == 1);
    }

    @Test
    void endlessHeadIsAFailure() throws Exception {
        receiver.use(endless("HTTP/1.1 200 OK\r\nX: "));
        assertFails(sender(LONG));
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
        var sender = sender(Duration.ofMillis(500));
        await("on a busy machine an attempt may end before it has connected").until(() -> {
            assertFails(sender);
            return receiver.closedByClient() > 0;
        });
    }

    @Test
    void unreachableReceiverIsAFailure() throws Exception {
        try (var reserved = new Socket()) { // nobody else gets the port, and nobody listens on it
            reserved.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertFails(sender(reserved.getLocalPort(), Optional.empty(), LONG));
        }
    }

    private static void assertFails(WebhookSender sender) throws InterruptedException {
        assertThat(sender.send(List.of(NOTICE)).kind()).isEqualTo(ReplyKind.FAILED);
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
    void largeViolationIsReduced() throws IOException {
        var large = acted(violationOf(process(812)).message("x".repeat(WebhookBodies.LARGEST)));
        var bytes = bodies().of(List.of(large));
        assertThat(bytes).hasSizeLessThan(4096);
        var event = JSON.readTree(bytes);
        assertThat(event.path("type").asText()).isEqualTo("dev.genv.enforcer.violation.acted.v1");
        assertThat(event.path("data")).isEqualTo(JSON.readTree("""
            {"violation": {"id": "id-1", "rule": "non-env-processes", "host": "gpu-1",
                           "status": "active", "mode": "enforce"},
             "reduced": true}\
            """));
        assertThat(event.path("text").asText()).startsWith("gpu-1: terminate process 812");
    }

    @Test
    void violationOfLessThan64KibIsComplete() throws IOException {
        var long64 = acted(violationOf(process(812)).message("x".repeat(WebhookBodies.LARGEST - 2_000)));
        var event = JSON.readTree(bodies().of(List.of(long64)));
        assertThat(event.at("/data/violation/message").asText()).hasSize(WebhookBodies.LARGEST - 2_000);
        assertThat(event.path("data").has("reduced")).isFalse();
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
