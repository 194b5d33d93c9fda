package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.Terminations;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.Store;
import dev.genv.enforcer.enforcement.record.Store.Restored;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jboss.logging.Logger;

/**
 * Restores what earlier runs of the service stored. A restart is then the same as a suspension of the service between two cycles: what was
 * observed and reported before still counts, and the time in between does not. What readers see is restored before they can read it.
 */
public final class Restoration {
    private static final Logger LOG = Logger.getLogger(Restoration.class);
    /** A longer stop ends all grace periods: users had no reason to expect that they continue. */
    private static final Duration LONGEST_STOP = Duration.ofHours(1);

    private final Store store;
    private final List<EventContent> atStart;
    private final List<String> notRestored;
    private Restored earlier;

    /** Reads what the store has. The events of the start follow those of the earlier runs. */
    public Restoration(Store store, List<EventContent> atStart) {
        this.store = store;
        this.atStart = new ArrayList<>(atStart);
        earlier = store.restore();
        notRestored = new ArrayList<>(earlier.unreadable());
    }

    /** Restores the events into an empty log. */
    public synchronized EventLog restore(EventLog events) {
        restore("events", () -> events.continueFrom(store::id, earlier.events(), earlier.lastEvent()));
        return events;
    }

    /** Restores how far the deliveries of events came. */
    public synchronized DeliveryCursors restore(DeliveryCursors deliveries) {
        restore("deliveries", () -> deliveries.restore(earlier.state()));
        return deliveries;
    }

    /** Restores the violations into an empty registry. */
    public synchronized ViolationRegistry restore(ViolationRegistry registry) {
        earlier.cycle()
                .ifPresent(cycle -> restore("violations", () -> {
                    registry.restore(earlier.active(), earlier.resolved(), cycle, !earlier.isSameBoot())
                            .forEach(over -> atStart.add(new EventContent.ViolationResolved(over)));
                }));
        return registry;
    }

    /** The highest number of an action; 0 if there is none. */
    public synchronized long lastIntent() {
        return earlier.lastIntent();
    }

    /** Restores what decisions depend on. It comes last, and forgets what the store had, so that it does not stay in memory. */
    synchronized void restore(
            CycleClock clock, Terminations terminations, History history, ActionIntents intents, Instant now) {
        if (earlier.isSameBoot()) {
            earlier.cycle().ifPresent(last -> {
                clock.continueFrom(last.counted());
                restore("pending terminations", () -> terminations.restore(earlier.state(), last));
                restore(
                        "history of the state",
                        () -> history.restore(earlier.state(), last, continuesClocks(last, now)));
            });
            restore("actions without a result", () -> restoreIntents(terminations, intents));
        }
        earlier = Restored.nothing(earlier.hasLost());
    }

    /** They may have been executed, so they count like actions whose answer was lost. */
    private void restoreIntents(Terminations terminations, ActionIntents intents) {
        for (var intent : earlier.intents()) {
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

    /** Restores a part. The service starts without one that fails, because a start that fails would fail again. */
    private void restore(String part, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            LOG.errorf(e, "The service starts without a part of the database that cannot be restored: %s", part);
            notRestored.add(part);
        }
    }

    /** Whether something that earlier runs stored is lost, so that it is unknown whom they signalled. */
    synchronized boolean hasLost() {
        return earlier.hasLost() || !notRestored.isEmpty();
    }

    /** The events of the start, and of violations that are over since the last run. */
    synchronized List<EventContent> atStart() {
        return List.copyOf(atStart);
    }

    /** Returns what could not be restored, once. */
    synchronized List<Problem> takeNotRestored() {
        var parts = String.join(", ", notRestored);
        notRestored.clear();
        return parts.isEmpty() ? List.of() : List.of(new Problem(ProblemCode.DATA_NOT_RESTORED, parts));
    }
}
