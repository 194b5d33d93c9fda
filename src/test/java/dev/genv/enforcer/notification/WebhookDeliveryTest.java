package dev.genv.enforcer.notification;

import static dev.genv.enforcer.testsupport.ScriptedReceiver.status;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.EventLog;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Which events are sent. */
class WebhookDeliveryTest extends WebhookFixture {
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

    @Test
    void continuesAfterARestartWhereItWas() throws Exception {
        append("a", "b");
        delivery.run(log);
        append("c");
        delivery().run(log);
        assertThat(ids()).containsExactly("a-1", "b-2", "c-3");
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
    void eventsWithoutAMessageAreSkipped() throws Exception {
        appendOther();
        append("a");
        delivery.run(log);
        assertThat(ids()).containsExactly("a-2");
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
}
