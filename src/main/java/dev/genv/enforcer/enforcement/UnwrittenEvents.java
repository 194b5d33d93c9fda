package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import java.util.List;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** The events that the journal has not confirmed. They are still in the log, unless there are too many; then they are lost. */
final class UnwrittenEvents {
    private static final Logger LOG = Logger.getLogger(UnwrittenEvents.class);

    private final EventLog log;
    /** The position of the last event that is on the disk. */
    private long written;
    /** The number of lost events since the last report. */
    private long lost;

    /**
     * Begins after the events of earlier runs.
     *
     * @param written the position of their last one
     */
    UnwrittenEvents(EventLog log, long written) {
        this.log = log;
        this.written = written;
    }

    /**
     * Returns the events to be written.
     *
     * @param ofCycle the events of this cycle, which the log does not show yet
     */
    List<Event> with(List<Event> ofCycle) {
        return Stream.concat(log.since(written).stream(), ofCycle.stream()).toList();
    }

    /** Returns the position of the last one of these events, or else of the last written one. */
    long last(List<Event> events) {
        return events.isEmpty() ? written : events.getLast().sequence();
    }

    /** Records that these events are on the disk. */
    void recordWritten(List<Event> events) {
        var last = last(events);
        var missing = last - written - events.size();
        if (missing > 0) {
            LOG.warnf("%d events were never written to the journal: it was not available for too long", missing);
            lost += missing;
        }
        written = last;
    }

    /** Returns a problem if events were lost since the last call. */
    List<Problem> takeLoss() {
        var count = lost;
        lost = 0;
        return count == 0
                ? List.of()
                : List.of(new Problem(
                        ProblemCode.JOURNAL_UNWRITABLE,
                        "the journal lacks %d events, because it was not available for too long".formatted(count)));
    }
}
