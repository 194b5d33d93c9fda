package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.Store;
import dev.genv.enforcer.enforcement.record.Store.CycleCommit;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import jakarta.inject.Singleton;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** Stores what the next run of the service needs, cycle by cycle, after it has continued from what earlier runs stored. */
@Singleton
final class CycleStore {
    private static final Logger LOG = Logger.getLogger(CycleStore.class);

    private final Store store;
    private final Restoration restoration;
    private final ViolationRegistry registry;
    private final EventLog events;
    private final DeliveryCursors deliveries;
    private final History history;
    private final Terminations terminations;
    private final ActionIntents intents;
    private final Ticker counted;
    /** The number of events that were lost since the last report. */
    private long lostEvents;

    /** Restores what earlier runs left. The registry, the events and the deliveries are restored by then. */
    CycleStore(
            Store store,
            Restoration restoration,
            ViolationRegistry registry,
            EventLog events,
            DeliveryCursors deliveries,
            History history,
            Terminations terminations,
            ActionIntents intents,
            CycleClock clock,
            Ticker ticker) {
        this.store = store;
        this.restoration = restoration;
        this.registry = registry;
        this.events = events;
        this.deliveries = deliveries;
        this.history = history;
        this.terminations = terminations;
        this.intents = intents;
        counted = clock.ticker();
        events.append(ticker.now(), restoration.atStart()); // the first cycle stores them
        restoration.restore(clock, terminations, history, intents, ticker.now());
    }

    /** Returns what is wrong with the store, and once what is lost. */
    List<Problem> problems() {
        return Stream.of(store.problems(), takeLostEvents(), restoration.takeNotRestored())
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
        var violations = registry.save();
        var unstored = events.unstored(ofCycle);
        var actions = intents.unstored();
        var cycle = new SavedCycle(
                counted.mark(),
                history.recordedAt(),
                history.ticks(),
                violations.cycles(),
                violations.appearances(),
                at,
                violations.latest(),
                unstored.isEmpty() ? events.stored() : unstored.getLast().sequence());
        var state =
                SavedState.EMPTY.with(history.save()).with(terminations.save()).with(deliveries.save());
        if (store.commit(new CycleCommit(cycle, state, violations.active(), unstored, actions))) {
            var missing = events.confirm(unstored);
            if (missing > 0) {
                LOG.warnf("%d events were never stored: the database was not available for too long", missing);
                lostEvents += missing;
            }
            intents.stored(actions);
        }
    }
}
