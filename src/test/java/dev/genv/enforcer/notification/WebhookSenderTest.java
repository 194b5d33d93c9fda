package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.notice;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.drip;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.hang;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.notification.Delivery.Reply;
import dev.genv.enforcer.notification.Delivery.ReplyKind;
import dev.genv.enforcer.notification.WebhookBodies.WebhookFormat;
import dev.genv.enforcer.notification.WebhookDelivery.WebhookSender;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
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
import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WebhookSenderTest {
    private static final Duration LONGEST = Duration.ofHours(1);
    private static final Duration LONG = Duration.ofMinutes(3);
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Notice NOTICE = notice(action(violationOf(process(812).uid(1003)), 812, Outcome.SIGNALLED))
            .orElseThrow();

    private static Vertx vertx;

    @TempDir
    Path folder;

    @BeforeAll
    static void open() {
        vertx = Vertx.vertx();
    }

    @AfterAll
    static void close() {
        vertx.close();
    }

    @Test
    void sendsACloudEvent() throws Exception {
        try (var receiver = new ScriptedReceiver(status(204))) {
            assertThat(sender(receiver, WebhookFormat.CLOUDEVENTS, LONG).send(NOTICE))
                    .isEqualTo(Reply.ACCEPTED);
            var request = receiver.requests().getFirst();
            assertThat(request.line()).isEqualTo("POST /hook?key=1 HTTP/1.1");
            assertThat(request.headers())
                    .containsEntry("content-type", "application/cloudevents+json; charset=UTF-8")
                    .containsEntry("webhook-id", "id-1-7")
                    .containsEntry("webhook-timestamp", Long.toString(FakeTime.START.getEpochSecond()))
                    .doesNotContainKey("webhook-signature");
            assertThat(JSON.readTree(request.body()).path("specversion").asText())
                    .isEqualTo("1.0");
        }
    }

    @Test
    void sendsOnlyATextToChats() throws Exception {
        try (var receiver = new ScriptedReceiver(status(200))) {
            sender(receiver, WebhookFormat.TEXT, LONG).send(NOTICE);
            var request = receiver.requests().getFirst();
            assertThat(request.headers()).containsEntry("content-type", "application/json; charset=UTF-8");
            assertThat(JSON.readTree(request.body()).has("specversion")).isFalse();
        }
    }

    /** With the commands of operate.md. */
    @ParameterizedTest
    @ValueSource(strings = {"s3cret", "whsec_czNjcmV0AAECAwQ="})
    void signsIdTimeAndBody(String secret) throws Exception {
        var file = Files.writeString(folder.resolve("secret"), secret + "\n");
        try (var receiver = new ScriptedReceiver(status(200))) {
            sender(receiver, Optional.of(new SecretFile(file)), WebhookFormat.CLOUDEVENTS, LONG)
                    .send(NOTICE);
            var request = receiver.requests().getFirst();
            Files.writeString(folder.resolve("body"), request.body());
            var openssl = new ProcessBuilder("sh", "-c", command(secret)).directory(folder.toFile());
            openssl.environment().put("secret", secret);
            openssl.environment().put("id", request.headers().get("webhook-id"));
            openssl.environment().put("timestamp", request.headers().get("webhook-timestamp"));
            var signature = new String(openssl.start().getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
            assertThat(request.headers()).containsEntry("webhook-signature", "v1," + signature.strip());
        }
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

    @Test
    void secretWithoutAKeyIsAFailure() throws Exception {
        var empty = new SecretFile(Files.writeString(folder.resolve("empty"), "whsec_"));
        try (var receiver = new ScriptedReceiver(status(200))) {
            assertThat(sender(receiver, Optional.of(empty), WebhookFormat.TEXT, LONG)
                            .send(NOTICE))
                    .satisfies(WebhookSenderTest::isFailure)
                    .satisfies(failed -> assertThat(failed.why()).contains("after whsec_ it has no key"));
        }
    }

    @Test
    void unreadableSecretIsAFailureAndNothingIsSent() throws Exception {
        try (var receiver = new ScriptedReceiver(status(200))) {
            var none = new SecretFile(folder.resolve("none"));
            assertThat(sender(receiver, Optional.of(none), WebhookFormat.TEXT, LONG)
                            .send(NOTICE))
                    .satisfies(WebhookSenderTest::isFailure)
                    .satisfies(failed -> assertThat(failed.why()).contains("No such file"));
            assertThat(receiver.requests()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {303, 307})
    void redirectIsNotFollowed(int status) throws Exception {
        try (var other = new ScriptedReceiver(status(200))) {
            var reply = replyTo(status(status, "Location: http://127.0.0.1:%d/".formatted(other.port())));
            isFailure(reply);
            assertThat(other.requests()).isEmpty();
        }
    }

    @Test
    void answerWithoutEndIsNotRead() throws Exception {
        var endless = (ScriptedReceiver.Script) (_, out) -> {
            out.write("HTTP/1.1 200 OK\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
            while (true) {
                out.write(new byte[1 << 16]);
            }
        };
        try (var receiver = new ScriptedReceiver(endless)) {
            assertThat(sender(receiver, WebhookFormat.TEXT, LONG).send(NOTICE)).isEqualTo(Reply.ACCEPTED);
            await().until(() -> receiver.closedByClient() == 1);
        }
    }

    @Test
    void endlessHeadIsAFailure() throws Exception {
        var endless = (ScriptedReceiver.Script) (_, out) -> {
            out.write("HTTP/1.1 200 OK\r\nX: ".getBytes(StandardCharsets.ISO_8859_1));
            while (true) {
                out.write("x".repeat(1 << 12).getBytes(StandardCharsets.ISO_8859_1));
            }
        };
        isFailure(replyTo(endless));
    }

    /** Otherwise each attempt would leave a connection. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void connectionWithoutAnAnswerIsClosedAfterTheTimeLimit(boolean drips) throws Exception {
        try (var receiver = new ScriptedReceiver(drips ? drip() : hang())) {
            var sender = sender(receiver, WebhookFormat.TEXT, Duration.ofMillis(500));
            await("on a busy machine an attempt may end before it has connected")
                    .until(() -> {
                        isFailure(sender.send(NOTICE));
                        return receiver.closedByClient() > 0;
                    });
        }
    }

    @Test
    void unreachableReceiverIsAFailure() throws Exception {
        try (var reserved = new Socket()) { // nobody else gets the port, and nobody listens on it
            reserved.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            var sender = sender(reserved.getLocalPort(), Optional.empty(), WebhookFormat.TEXT, LONG);
            isFailure(sender.send(NOTICE));
        }
    }

    private static void isFailure(Reply reply) {
        assertThat(reply.kind()).isEqualTo(ReplyKind.FAILED);
    }

    private static Reply replyTo(ScriptedReceiver.Script script) throws IOException, InterruptedException {
        try (var receiver = new ScriptedReceiver(script)) {
            return sender(receiver, WebhookFormat.TEXT, LONG).send(NOTICE);
        }
    }

    private static WebhookSender sender(ScriptedReceiver receiver, WebhookFormat format, Duration timeout) {
        return sender(receiver, Optional.empty(), format, timeout);
    }

    private static WebhookSender sender(
            ScriptedReceiver receiver, Optional<SecretFile> secret, WebhookFormat format, Duration timeout) {
        return sender(receiver.port(), secret, format, timeout);
    }

    private static WebhookSender sender(int port, Optional<SecretFile> secret, WebhookFormat format, Duration timeout) {
        var view = new SomeFields();
        var bodies =
                new WebhookBodies(format, URI.create("urn:genv-enforcer:gpu-1"), JSON, view::violation, view::action);
        return new WebhookSender(
                vertx,
                URI.create("http://127.0.0.1:%d/hook?key=1".formatted(port)),
                secret,
                bodies,
                timeout,
                new FakeTime().ticker());
    }

    @ParameterizedTest
    @CsvSource({
        "0,0",
        "120,120",
        " 120 ,120",
        "999999999,3600",
        "'Fri, 20 Nov 2026 09:24:28 GMT',120",
        "'Fri, 20 Nov 2026 09:00:00 GMT',0",
        "'Sat, 20 Nov 2027 09:00:00 GMT',3600"
    })
    void isATimeOfAtMostAnHour(String value, long seconds) {
        assertThat(parse(value)).contains(Duration.ofSeconds(seconds));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "-1", "1.5", "soon", "99999999999", "Fri, 20 Nov 2026"})
    void invalidValueIsIgnored(String value) {
        assertThat(parse(value)).isEmpty();
    }

    @Test
    void missingHeaderIsNoTime() {
        assertThat(WebhookSender.retryAfter(null, FakeTime.START, LONGEST)).isEmpty();
    }

    private static Optional<Duration> parse(String value) {
        return WebhookSender.retryAfter(value, FakeTime.START, LONGEST);
    }
}
