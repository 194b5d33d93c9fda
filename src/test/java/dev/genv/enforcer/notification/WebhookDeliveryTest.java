package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A webhook whose receiver is real, and whose time is not. */
class WebhookDeliveryTest {
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

    @Test
    void receiverSaysWhenToTryAgain() throws Exception {
        receiver.use(status(429, "Retry-After: 120"));
        append("a");
        assertThat(delivery.run(log)).isEqualTo(Duration.ofMinutes(2));
        receiver.use(status(503, "Retry-After: Fri, 20 Nov 2026 15:00:00 GMT"));
        time.pass(Duration.ofMinutes(2));
        assertThat(delivery.run(log))
                .isEqualTo(Duration.ofHours(5).plusMinutes(35).plusSeconds(32));
    }

    @Test
    void receiverCannotAskForFasterAttempts() throws Exception {
        receiver.use(status(429, "Retry-After: 0"));
        append("a");
        assertThat(delivery.run(log)).isEqualTo(Duration.ofSeconds(5));
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
        var failing = delivery(new SomeFields() {
            @Override
            Object violation(ViolationRecord violation) {
                if (violation.id().equals("a")) {
                    throw new IllegalStateException("a defect");
                }
                return super.violation(violation);
            }
        });
        append("a", "b");
        for (var attempt = 1; attempt <= 3; attempt++) {
            failing.run(log);
            time.pass(Duration.ofMinutes(1));
        }
        assertThat(failing.failed.count()).isEqualTo(1);
        assertThat(failing.problem().orElseThrow()).contains("IllegalStateException");
        failing.run(log);
        assertThat(ids()).containsExactly("b-2");
    }

    private static ScriptedReceiver.Script refusing(String violation, int status) {
        return (request, out) -> {
            var isRefused = request.body().contains("\"subject\":\"%s\"".formatted(violation));
            status(isRefused ? status : 200).answer(request, out);
        };
    }
}
