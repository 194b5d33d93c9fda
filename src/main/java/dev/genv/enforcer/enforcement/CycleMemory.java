package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.Event;
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
    /** The number of events that were lost since the last report. */
    private long lostEvents;

    /** Restores what earlier runs left. */
    CycleMemory(Records records, CycleClock clock, History history, Terminations terminations, Ticker ticker) {
        this.records = records;
        this.clock = clock;
        this.history = history;
        this.terminations = terminations;
        counted = clock.ticker();
        var restored = records.takeRestored();
        intents = new ActionIntents(records.store(), restored.lastIntent(), ticker);
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
        return Stream.of(records.store().problems(), takeLostEvents(), records.takeNotRestored())
                .flatMap(List::stream)
                .toList();
    }

    private List<Problem> takeLostEvents() {
        var count = lostEvents;
        lostEvents = 0;
        return count == 0
                ? List.of()
                : List.of(new Problem(
                        ProblemCode.DATA_UNWRITABLE,
                        "the database lacks %d events, because it was not available for too long".formatted(count)));
    }

    /** Stores a cycle, after its clock has ended and before readers see it. */
    void commit(List<Event> ofCycle, Instant at) {
        var violations = records.registry().save();
        var events = records.events().unstored(ofCycle);
        var actions = intents.unstored();
        var cycle = new SavedCycle(
                counted.mark(),
                history.recordedAt(),
                history.ticks(),
                violations.cycles(),
                violations.appearances(),
                at,
                violations.latest(),
                events.isEmpty() ? records.events().stored() : events.getLast().sequence());
        var state = SavedState.EMPTY
                .with(history.save())
                .with(terminations.save())
                .with(records.deliveries().save());
        var commit = new CycleCommit(cycle, state, violations.active(), events, actions);
        if (records.store().commit(commit)) {
            var missing = records.events().confirm(events);
            if (missing > 0) {
                LOG.warnf("%d events were never stored: the database was not available for too long", missing);
                lostEvents += missing;
            }
            intents.stored(actions);
        }
    }
}
