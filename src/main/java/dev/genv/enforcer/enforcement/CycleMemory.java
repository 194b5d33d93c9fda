package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.Store.CycleCommit;
import dev.genv.enforcer.enforcement.record.Store.Restored;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/**
 * Stores what the next run of the service needs, and restores it at the start. A restart is then the same as a suspension of the service
 * between two cycles: what was observed and reported before still counts, and the time in between does not.
 */
final class CycleMemory {
    private static final Logger LOG = Logger.getLogger(CycleMemory.class);
    /** A longer stop ends all grace periods: users had no reason to expect that they continue. */
    private static final Duration LONGEST_STOP = Duration.ofHours(1);

    private final Records records;
    private final CycleClock clock;
    private final History history;
    private final Terminations terminations;
    private final ActionIntents intents;
    private final Ticker counted;
    private final UnwrittenEvents unwritten;

    /** Restores what earlier runs left. */
    CycleMemory(Records records, CycleClock clock, History history, Terminations terminations, Ticker ticker) {
        this.records = records;
        this.clock = clock;
        this.history = history;
        this.terminations = terminations;
        counted = clock.ticker();
        var restored = records.takeRestored();
        intents = new ActionIntents(records.store(), restored.lastIntent(), ticker);
        unwritten = new UnwrittenEvents(records.events());
        records.events().append(ticker.now(), records.atStart()); // the first cycle stores them
        if (restored.isSameBoot()) {
            restored.cycle().ifPresent(last -> restore(restored, last, ticker.now()));
            records.restore("actions without a result", () -> restore(restored.intents()));
        }
    }

    private void restore(Restored restored, SavedCycle last, Instant now) {
        clock.continueFrom(last.counted());
        records.restore("pending terminations", () -> terminations.restore(restored.state(), last));
        records.restore(
                "history of the state", () -> history.restore(restored.state(), last, continuesClocks(last, now)));
    }

    /** They may have been executed, so they count like actions whose answer was lost. */
    private void restore(List<ActionRecord> earlier) {
        for (var intent : earlier) {
            LOG.warnf("The service was stopped before a cycle recorded this action: %s", ActionLog.fixedForm(intent));
            terminations.record(intent);
            intents.restore(intent);
        }
    }

    private static boolean continuesClocks(SavedCycle last, Instant now) {
        var stop = Duration.between(last.at(), now);
        if (stop.isNegative()) {
            LOG.infof("Grace periods begin again: the wall clock shows a time before the last cycle");
        } else if (stop.compareTo(LONGEST_STOP) > 0) {
            LOG.infof("Grace periods begin again: the last cycle was %d minutes ago", stop.toMinutes());
        }
        return !stop.isNegative() && stop.compareTo(LONGEST_STOP) <= 0;
    }

    ActionIntents intents() {
        return intents;
    }

    /** Returns what is wrong with the store, and once what is lost. */
    List<Problem> problems() {
        return Stream.of(records.store().problems(), unwritten.takeLoss(), records.takeNotRestored())
                .flatMap(List::stream)
                .toList();
    }

    /** Stores a cycle, after its clock has ended and before readers see it. */
    void commit(List<Event> ofCycle, Instant at) {
        var violations = records.registry().save();
        var events = unwritten.with(ofCycle);
        var actions = intents.unstored();
        var cycle = new SavedCycle(
                counted.mark(),
                history.recordedAt(),
                history.ticks(),
                violations.cycles(),
                violations.appearances(),
                at,
                violations.latest(),
                unwritten.last(events));
        var state = SavedState.EMPTY
                .with(history.save())
                .with(terminations.save())
                .with(records.deliveries().save());
        var commit = new CycleCommit(cycle, state, violations.active(), events, actions);
        if (records.store().commit(commit)) {
            unwritten.recordWritten(events);
            intents.stored(actions);
        }
    }

    /** The events that the store has not confirmed. They are still in the log, unless there are too many; then they are lost. */
    static final class UnwrittenEvents {
        private final EventLog log;
        /** The position of the last event that is stored. */
        private long written;
        /** The number of lost events since the last report. */
        private long lost;

        /** Begins after the last event of earlier runs. */
        UnwrittenEvents(EventLog log) {
            this.log = log;
            written = log.latest();
        }

        /** Returns the events to be stored, with those of this cycle, which the log does not show yet. */
        List<Event> with(List<Event> ofCycle) {
            return Stream.concat(log.since(written).stream(), ofCycle.stream()).toList();
        }

        /** Returns the position of the last one of these events, or else of the last stored one. */
        long last(List<Event> events) {
            return events.isEmpty() ? written : events.getLast().sequence();
        }

        /** Records that these events are stored. */
        void recordWritten(List<Event> events) {
            var last = last(events);
            var missing = last - written - events.size();
            if (missing > 0) {
                LOG.warnf("%d events were never stored: the database was not available for too long", missing);
                lost += missing;
            }
            written = last;
            log.confirm(last);
        }

        /** Returns a problem if events were lost since the last call. */
        List<Problem> takeLoss() {
            var count = lost;
            lost = 0;
            return count == 0
                    ? List.of()
                    : List.of(new Problem(
                            ProblemCode.DATA_UNWRITABLE,
                            "the database lacks %d events, because it was not available for too long"
                                    .formatted(count)));
        }
    }
}
