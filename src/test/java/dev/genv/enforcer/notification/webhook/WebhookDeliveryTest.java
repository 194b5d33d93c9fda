package dev.genv.enforcer.notification.webhook;

import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.genv.enforcer.enforcement.delivery.DeliveryCursor;
import dev.genv.enforcer.enforcement.delivery.DeliveryCursors;
import dev.genv.enforcer.enforcement.event.EventContent;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.enforcement.violation.ViolationRecord;
import dev.genv.enforcer.enforcement.violation.ViolationRecord.ActionNote;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
import dev.genv.enforcer.testsupport.fake.FakeTime;
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

/** The receiver is real, and the time is not. */
class WebhookDeliveryTest {
    private static final RandomGenerator NO_JITTER = () -> 0;
    private static Vertx vertx;

    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final DeliveryCursor cursor = new DeliveryCursors().of("webhook");
    private ScriptedReceiver receiver;
    private WebhookDelivery delivery;

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

    @Test
    void sendsEventsInTheirOrderAndEachOnce() throws Exception {
        append("a", "b");
        delivery.run(log);
        append("c");
        delivery.run(log);
        assertThat(ids()).containsExactly("a-1", "b-2", "c-3");
        assertThat(delivery.figures().sent()).isEqualTo(3);
        assertThat(delivery.figures().waiting()).isZero();
    }

    @Test
    void sendsNothingOfEventsFromBeforeItsStart() throws Exception {
        append("a");
        var later = delivery();
        append("b");
        later.run(log);
        assertThat(ids()).containsExactly("b-2");
    }

    @Test
    void continuesAfterARestartWhereItWas() throws Exception {
        append("a", "b");
        delivery.run(log);
        append("c");
        delivery().run(log);
        assertThat(ids()).containsExactly("a-1", "b-2", "c-3");
    }

    /** The journal was removed, and the events are numbered from 1 again. */
    @Test
    void cursorAheadOfTheLogLosesNoNewEvent() throws Exception {
        cursor.store(1_000);
        var restarted = delivery();
        append("a");
        restarted.run(log);
        assertThat(ids()).containsExactly("a-1");
    }

    @Test
    void eventsWithoutAMessageAreSkipped() throws Exception {
        log.append(FakeTime.START, List.of(new EventContent.ServiceStarted("1", "audit")));
        append("a");
        delivery.run(log);
        assertThat(ids()).containsExactly("a-2");
        assertThat(cursor.load()).hasValue(2);
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
        assertThat(delivery.figures().retried()).isEqualTo(2);
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
        assertThat(delivery.figures().waiting()).isEqualTo(1);
        assertThat(delivery.figures().oldest()).isEqualTo(Duration.ofSeconds(35));
        receiver.use(status(200));
        delivery.run(log);
        assertThat(delivery.problem()).isEmpty();
        assertThat(delivery.figures().oldest()).isZero();
    }

    @Test
    void receiverSaysWhenToTryAgain() throws Exception {
        receiver.use(status(429, "Retry-After: 120"));
        append("a");
        assertThat(delivery.run(log)).isEqualTo(Duration.ofMinutes(2));
        receiver.use(status(503, "Retry-After: Fri, 20 Nov 2026 10:00:00 GMT"));
        time.pass(Duration.ofMinutes(2));
        assertThat(delivery.run(log)).isEqualTo(Duration.ofMinutes(35).plusSeconds(32));
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
        assertThat(delivery.figures().failed()).isEqualTo(1);
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
        assertThat(delivery.figures().failed()).isEqualTo(2);
        assertThat(delivery.figures().waiting()).isEqualTo(1);
    }

    @Test
    void eventsThatAreNoLongerInMemoryAreCounted() throws Exception {
        receiver.use(status(500));
        append("a");
        delivery.run(log);
        for (var i = 0; i < EventLog.MAX_EVENTS; i++) {
            log.append(time.ticker().now(), List.of(new EventContent.ServiceStarted("1", "audit")));
        }
        receiver.use(status(200));
        time.pass(Duration.ofSeconds(5));
        append("z");
        delivery.run(log);
        assertThat(delivery.figures().dropped()).isEqualTo(2);
        assertThat(ids()).containsExactly("a-1", "z-" + (EventLog.MAX_EVENTS + 2));
    }

    private void append(String... violations) {
        for (var id : violations) {
            log.append(
                    time.ticker().now(),
                    List.of(opened(violationOf(process(812)).id(id))));
        }
    }

    private List<String> ids() {
        return receiver.requests().stream()
                .map(request -> request.headers().get("webhook-id"))
                .toList();
    }

    private WebhookDelivery delivery() {
        var bodies = new WebhookBodies(
                WebhookFormat.TEXT, URI.create("urn:genv-enforcer:gpu-1"), new ObjectMapper(), new NoFields());
        var sender = new WebhookSender(
                vertx,
                URI.create("http://127.0.0.1:%d/".formatted(receiver.port())),
                Optional.empty(),
                bodies,
                new WebhookSender.Limits(Duration.ofMinutes(3), Duration.ofHours(1)),
                time.ticker());
        var created = new WebhookDelivery(sender, cursor, time.ticker(), NO_JITTER);
        created.begin(log);
        return created;
    }

    private static final class NoFields implements WebhookBodies.View {
        @Override
        public Object violation(ViolationRecord violation) {
            return List.of();
        }

        @Override
        public Object action(ActionNote action) {
            return List.of();
        }
    }
}
