package dev.genv.enforcer.enforcement;

import dev.genv.enforcer.enforcement.action.PendingTerminations;
import dev.genv.enforcer.enforcement.history.History;
import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.Journal;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.enforcement.record.Journal.Restored.Scope;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/**
 * Writes to the journal what the next run of the service needs, and restores it at the start. A restart is then the same as a
 * suspension of the service between two cycles: what was observed and reported before still counts, and the time in between does not.
 */
final class CycleMemory {
    private static final Logger LOG = Logger.getLogger(CycleMemory.class);
    /** A longer stop ends all grace periods: users had no reason to expect that they continue. */
    private static final Duration LONGEST_STOP = Duration.ofHours(1);

    private final Journal journal;
    private final ViolationRegistry registry;
    private final CycleClock clock;
    private final History history;
    private final PendingTerminations terminations;
    private final ActionIntents intents;
    private final DeliveryCursors deliveries;
    private final EventLog events;
    private final Ticker counted;
    private List<ActionRecord> restoredActions;
    /** What could not be restored; the first cycle reports it. */
    private List<Problem> notRestored;

    private final UnwrittenEvents unwritten;

    /** Restores what earlier runs left. */
    CycleMemory(Records records, CycleClock clock, History history, PendingTerminations terminations, Ticker ticker) {
        journal = records.journal();
        registry = records.registry();
        deliveries = records.deliveries();
        events = records.events();
        this.clock = clock;
        this.history = history;
        this.terminations = terminations;
        counted = clock.ticker();
        var restored = records.takeRestored();
        intents = new ActionIntents(journal, restored.lastIntent(), ticker);
        var restoration = records.restoration();
        restored.memory().ifPresent(memory -> restore(memory, ticker.now(), restoration));
        unwritten = new UnwrittenEvents(events, restored.lastSequence());
        events.append(ticker.now(), records.atStart()); // the first cycle writes them
        restoredActions = new ArrayList<>();
        restoration.restore(
                "actions without a result",
                () -> restored.actions().forEach(action -> {
                    logRestored(action);
                    record(action.planned(), action.result());
                    restoredActions.add(action);
                }));
        notRestored = restoration.problems();
    }

    ActionIntents intents() {
        return intents;
    }

    /** Returns the actions of the earlier run that no cycle recorded, once. */
    List<ActionRecord> takeRestoredActions() {
        var taken = restoredActions;
        restoredActions = List.of();
        return taken;
    }

    /** Returns what is wrong with the journal, and once what is lost. */
    List<Problem> problems() {
        return Stream.of(journal.problems(), unwritten.takeLoss(), notRestored)
                .flatMap(List::stream)
                .toList();
    }

    /** Writes a cycle to the journal, after its clock has ended and before readers see it. */
    void commit(List<Event> ofCycle, Instant at) {
        if (!journal.isEnabled()) {
            return;
        }
        // First the intents: an intent that is missing here has its result in one of the others.
        var openIntents = intents.save();
        var lastIntent = intents.last();
        var progress = registry.progress();
        var toWrite = unwritten.with(ofCycle);
        var cycle = new SavedCycle(
                counted.mark(),
                history.recordedAt(),
                history.ticks(),
                progress.cycles(),
                progress.appearances(),
                at,
                progress.latest(),
                lastIntent,
                unwritten.last(toWrite));
        var state =
                openIntents.with(terminations.save()).with(deliveries.save()).with(events.save());
        if (journal.commit(new CycleCommit(toWrite, cycle, state, registry.save(), history.save()))) {
            unwritten.recordWritten(toWrite);
        }
        notRestored = List.of();
    }

    private void restore(Restored.Memory memory, Instant now, Restoration restoration) {
        var last = memory.cycle();
        if (memory.scope() != Scope.WITHOUT_PROCESSES) {
            clock.continueFrom(last.counted());
            restoration.restore("pending terminations", () -> terminations.restore(memory.state(), last));
        }
        if (memory.scope() == Scope.ALL) {
            restoration.restore(
                    "history of the state", () -> history.restore(memory.state(), last, continuesClocks(memory, now)));
        }
    }

    private static boolean continuesClocks(Restored.Memory memory, Instant now) {
        var stop = Duration.between(memory.cycle().at(), now);
        if (stop.isNegative()) {
            LOG.infof("Grace periods begin again: the wall clock shows a time before the last cycle");
        } else if (stop.compareTo(LONGEST_STOP) > 0) {
            LOG.infof("Grace periods begin again: the last cycle was %d minutes ago", stop.toMinutes());
        }
        return !stop.isNegative() && stop.compareTo(LONGEST_STOP) <= 0;
    }

    private static void logRestored(ActionRecord earlier) {
        LOG.warnf("The service was stopped before a cycle recorded this action: %s", ActionLog.fixedForm(earlier));
    }

    /** Remembers an action for the next cycles. One without a result may have been executed, so it counts like one whose answer was lost. */
    void record(PlannedAction planned, Result result) {
        if (planned.action() instanceof Action.Terminate terminate) {
            terminations.record(planned, terminate, result);
        }
    }

    /**
     * Restores each part of what earlier runs left. A part that cannot be restored is lost. The service starts without it,
     * because a start that fails would fail again with the same journal.
     */
    static final class Restoration {
        private final List<String> lost = new ArrayList<>();

        void restore(String part, Runnable step) {
            try {
                step.run();
            } catch (RuntimeException e) {
                LOG.errorf(e, "The service starts without a part of the journal that cannot be restored: %s", part);
                lost.add(part);
            }
        }

        List<Problem> problems() {
            return lost.isEmpty()
                    ? List.of()
                    : List.of(new Problem(ProblemCode.JOURNAL_NOT_RESTORED, String.join(", ", lost)));
        }
    }

    /**
     * The events that the journal has not confirmed. They are still in the log, unless there are too many; then they are lost.
     */
    static final class UnwrittenEvents {
        private final EventLog log;
        /** The position of the last event that is on the disk. */
        private long written;
        /** The number of lost events since the last report. */
        private long lost;

        /** Begins after the last event of earlier runs, which has this position. */
        UnwrittenEvents(EventLog log, long written) {
            this.log = log;
            this.written = written;
        }

        /** Returns the events to be written, with those of this cycle, which the log does not show yet. */
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
}
