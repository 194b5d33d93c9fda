package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.SavedState;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.Store;
import dev.genv.enforcer.enforcement.report.Store.CycleCommit;
import dev.genv.enforcer.enforcement.report.Store.Restored;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/**
 * Stores what the next run of the service needs, cycle by cycle, after it has continued from what earlier runs stored. A restart is then the
 * same as a suspension of the service between two cycles: what was observed and reported before still counts, and the time in between does
 * not. What readers see is restored before they can read it.
 */
public final class CycleStore {
    private static final Logger LOG = Logger.getLogger(CycleStore.class);
    /** A longer stop ends all grace periods: users had no reason to expect that they continue. */
    private static final Duration LONGEST_STOP = Duration.ofHours(1);

    /** The store may not be available for long. */
    private static final int MAX_UNSTORED = 10_000;

    private final Store store;
    private final ViolationRegistry registry;
    private final EventLog events;
    private final DeliveryCursors deliveries;
    /** The actions that may not be stored, by their number. */
    private final SequencedMap<Long, ActionRecord> actions = new LinkedHashMap<>();

    private final List<String> notRestored;
    private Restored earlier;
    /** The number of the last action. */
    private long lastAction;
    /** The number of events that were lost since the last report. */
    private long lostEvents;

    /**
     * Restores what readers see into an empty registry, log and cursors. The first cycle stores the events of the start, which follow those of
     * the earlier runs.
     */
    public CycleStore(
            Store store,
            ViolationRegistry registry,
            EventLog events,
            DeliveryCursors deliveries,
            List<EventContent> atStart,
            Ticker ticker) {
        this.store = store;
        this.registry = registry;
        this.events = events;
        this.deliveries = deliveries;
        earlier = store.restore();
        notRestored = new ArrayList<>(earlier.unreadable());
        lastAction = earlier.lastAction();
        restore("events", () -> events.continueFrom(store::id, earlier.events(), earlier.lastEvent()));
        restore("deliveries", () -> deliveries.restore(earlier.state()));
        var started = new ArrayList<>(atStart);
        earlier.cycle()
                .ifPresent(cycle -> restore(
                        "violations",
                        () -> registry.restore(earlier.active(), earlier.resolved(), cycle, !earlier.isSameBoot())
                                .forEach(over -> started.add(new EventContent.ViolationResolved(over)))));
        events.append(ticker.now(), started);
    }

    public ViolationRegistry registry() {
        return registry;
    }

    public EventLog events() {
        return events;
    }

    public DeliveryCursors deliveries() {
        return deliveries;
    }

    /**
     * Restores what decisions depend on, and forgets what the store had, so that it does not stay in memory.
     *
     * @return whether something that earlier runs stored is lost, so that it is unknown whom they signalled
     */
    boolean restore(CycleClock clock, CurrentPolicy policies, Terminations terminations, History history, Instant now) {
        restore("accounts", () -> history.restoreAccounts(earlier.state()));
        if (earlier.isSameBoot()) {
            earlier.cycle().ifPresent(last -> {
                clock.continueFrom(last.counted());
                restore(
                        "history of the state",
                        () -> history.restore(earlier.state(), last, continuesClocks(last, now)));
            });
            restore("pending terminations", () -> terminations.restore(earlier.state(), earlier.cycle()));
            terminations
                    .unrecorded()
                    .forEach(signal -> LOG.warnf(
                            "The service was stopped before a cycle recorded this action: %s",
                            ActionLog.fixedForm(signal)));
        }
        restore(
                "policy",
                () -> policies.restore(
                        earlier.state(), earlier.isSameBoot(), clock.ticker().mark()));
        earlier = Restored.nothing(earlier.hasLost());
        var hasLost = earlier.hasLost() || !notRestored.isEmpty();
        if (hasLost) {
            policies.hold(clock.ticker().mark());
        }
        return hasLost;
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

    /** Returns what is wrong with the store, and once what is lost and what could not be restored. */
    List<Problem> problems() {
        var lost = lostEvents == 0
                ? Stream.<Problem>empty()
                : Stream.of(new Problem(
                        ProblemCode.DATA_UNWRITABLE,
                        "the database lacks %d events, because it was not available for too long"
                                .formatted(lostEvents)));
        var parts = notRestored.isEmpty()
                ? Stream.<Problem>empty()
                : Stream.of(new Problem(ProblemCode.DATA_NOT_RESTORED, String.join(", ", notRestored)));
        lostEvents = 0;
        notRestored.clear();
        return Stream.of(store.problems().stream(), lost, parts)
                .flatMap(problems -> problems)
                .toList();
    }

    /** Stores terminations before their first signal. */
    void begin(SavedState begun) {
        if (begun.all().values().stream().anyMatch(entries -> !entries.isEmpty())) {
            store.begin(begun);
        }
    }

    /**
     * Remembers actions for the next commit: those that are news or may have had an effect.
     *
     * @param all the actions of a cycle
     * @param news those of them that are no repetitions
     */
    void remember(List<ActionRecord> all, List<ActionRecord> news) {
        var isNew = new HashSet<>(news);
        for (var done : all) {
            var isKept = isNew.contains(done) || done.result().mayHaveEffect();
            if (isKept && !done.result().outcome().isSkipped()) {
                actions.put(++lastAction, done);
            }
        }
        while (actions.size() > MAX_UNSTORED) {
            actions.pollFirstEntry();
        }
    }

    /** Stores a cycle, after its clock has ended and before readers see it. */
    void commit(
            List<Event> ofCycle,
            Instant at,
            CycleClock clock,
            CurrentPolicy policies,
            Terminations terminations,
            History history) {
        var violations = registry.save();
        var unstored = events.unstored(ofCycle);
        var changes = new LinkedHashMap<>(actions);
        var cycle = new SavedCycle(
                clock.ticker().mark(),
                history.observedAt(),
                history.ticks(),
                violations.cycles(),
                violations.appearances(),
                at,
                violations.latest(),
                unstored.isEmpty() ? events.stored() : unstored.getLast().sequence());
        var state = SavedState.EMPTY
                .with(history.save())
                .with(policies.save())
                .with(terminations.save())
                .with(deliveries.save());
        if (store.commit(new CycleCommit(cycle, state, violations.active(), unstored, changes, violations.names()))) {
            var missing = events.confirm(unstored);
            if (missing > 0) {
                LOG.warnf("%d events were never stored: the database was not available for too long", missing);
                lostEvents += missing;
            }
            actions.clear();
        }
    }
}
