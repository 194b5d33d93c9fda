package dev.genv.enforcer.enforcement;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.CycleMemory.UnwrittenEvents;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class UnwrittenEventsTest {
    private static final Instant AT = Instant.parse("2026-11-20T09:22:28Z");

    private final EventLog log = new EventLog();
    private final UnwrittenEvents unwritten = new UnwrittenEvents(log);

    @Test
    void eventsAreWrittenAgainUntilTheDiskHasThem() {
        var first = number(2);
        assertThat(unwritten.with(first)).isEqualTo(first);
        log.publish(first);
        var second = number(1);
        var both = unwritten.with(second);
        assertThat(both).extracting(Event::sequence).containsExactly(1L, 2L, 3L);
        unwritten.recordWritten(both);
        log.publish(second);
        assertThat(unwritten.with(List.of())).isEmpty();
        assertThat(unwritten.takeLoss()).isEmpty();
        assertThat(unwritten.last(List.of())).isEqualTo(3);
    }

    @Test
    void eventsThatAreNoLongerInTheLogAreReportedAsLostOnce() {
        log.publish(number(EventLog.MAX_EVENTS + 5));
        unwritten.recordWritten(unwritten.with(number(1)));
        assertThat(unwritten.takeLoss())
                .containsExactly(new Problem(
                        ProblemCode.DATA_UNWRITABLE,
                        "the database lacks 5 events, because it was not available for too long"));
        assertThat(unwritten.takeLoss()).isEmpty();
    }

    private List<Event> number(int count) {
        return log.number(AT, Collections.nCopies(count, new EventContent.ServiceStarted("1", "enforce")));
    }
}
