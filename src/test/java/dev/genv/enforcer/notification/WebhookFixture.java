package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.notification.WebhookBodies.WebhookFormat;
import dev.genv.enforcer.notification.WebhookDelivery.WebhookSender;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A webhook whose receiver is real, and whose time is not. */
abstract class WebhookFixture {
    private static final RandomGenerator NO_JITTER = () -> 0;
    private static Vertx vertx;

    final FakeTime time = new FakeTime();
    final EventLog log = new EventLog();
    DeliveryCursors cursors = new DeliveryCursors();
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
        return delivery(new SomeFields());
    }

    WebhookDelivery delivery(SomeFields view) {
        var bodies = new WebhookBodies(
                WebhookFormat.CLOUDEVENTS,
                URI.create("urn:genv-enforcer:gpu-1"),
                new ObjectMapper(),
                view::violation,
                view::action);
        var sender = new WebhookSender(
                vertx,
                URI.create("http://127.0.0.1:%d/".formatted(receiver.port())),
                Optional.empty(),
                bodies,
                Duration.ofMinutes(3),
                time.ticker());
        var created = new WebhookDelivery(sender, cursors, time.ticker(), NO_JITTER, new SimpleMeterRegistry());
        created.begin(log);
        return created;
    }
}
