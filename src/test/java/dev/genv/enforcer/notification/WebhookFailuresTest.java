package dev.genv.enforcer.notification;

import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.testsupport.ScriptedReceiver;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Receivers that do not accept an event. */
class WebhookFailuresTest extends WebhookFixture {
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
        for (var status : List.of(400, 500, 401, 403, 404, 400, 503)) {
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
