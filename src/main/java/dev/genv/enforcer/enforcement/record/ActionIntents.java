package dev.genv.enforcer.enforcement.record;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Order;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.Store.ActionChanges;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The actions from their intent to the cycle that records their result. A result counts when it arrives, also if its cycle has ended or
 * failed meanwhile. Workers whose result is no longer awaited record here too.
 */
public final class ActionIntents {
    /** An action that hangs for ever leaves an intent, so the number of those of earlier cycles is bounded. */
    static final int MAX_OPEN = 1_000;
    /** The store may not be available for long. */
    private static final int MAX_UNSTORED = 10_000;

    private final Store store;
    private final Ticker ticker;
    /** Those without a result, by their number. */
    private final SequencedMap<Long, ActionRecord> open = new LinkedHashMap<>();
    /** Those whose result no cycle has recorded. */
    private final SequencedMap<Long, ActionRecord> ended = new LinkedHashMap<>();
    /** Those whose result a cycle has recorded, and that may not be stored. */
    private final SequencedMap<Long, ActionRecord> unstored = new LinkedHashMap<>();
    /** Those of which nothing is kept, and that may still be in the store. */
    private final Set<Long> dropped = new LinkedHashSet<>();

    private long last;

    /** Continues after the highest number of an earlier action. */
    public ActionIntents(Store store, long last, Ticker ticker) {
        this.store = store;
        this.last = last;
        this.ticker = ticker;
    }

    /** Records that the actions of these orders are about to be executed; the store has them when it returns. */
    public List<ActionRecord> begin(List<Order> orders) {
        var begun = add(orders.stream()
                .filter(Order.Run.class::isInstance)
                .map(Order::planned)
                .toList());
        if (!begun.isEmpty()) {
            store.begin(begun);
        }
        return begun;
    }

    private synchronized List<ActionRecord> add(List<PlannedAction> actions) {
        var begun = actions.stream()
                .map(planned -> new ActionRecord(++last, planned, Result.UNKNOWN, ticker.now()))
                .toList();
        limit(open.keySet(), MAX_OPEN);
        begun.forEach(intent -> open.put(intent.id(), intent));
        return begun;
    }

    /** Records an action with its result. One that has a result already is left alone. */
    public synchronized void end(ActionRecord done) {
        if (open.remove(done.id()) != null) {
            ended.put(done.id(), done);
        }
    }

    /** Records that an action without a result was not executed. */
    public synchronized void abandon(ActionRecord intent) {
        if (open.remove(intent.id()) != null) {
            drop(intent.id());
        }
    }

    /** Records an action of an earlier run, whose result is unknown. */
    public synchronized void restore(ActionRecord intent) {
        ended.put(intent.id(), intent);
    }

    /** Returns the results that no cycle has recorded. */
    public synchronized List<ActionRecord> unrecorded() {
        return List.copyOf(ended.values());
    }

    /**
     * Records that a cycle has taken over results.
     *
     * @param all the results that it has taken over
     * @param kept those of them that are to be kept
     */
    public synchronized void recorded(List<ActionRecord> all, List<ActionRecord> kept) {
        var keeps = new HashSet<>(kept);
        for (var done : all) {
            var isKept = keeps.contains(done);
            if (ended.remove(done.id()) != null) {
                if (isKept || done.result().mayHaveEffect()) {
                    unstored.put(done.id(), done);
                } else {
                    drop(done.id());
                }
            } else if (isKept && !done.result().outcome().isSkipped()) {
                unstored.put(++last, new ActionRecord(last, done.planned(), done.result(), done.at()));
            }
        }
        limit(unstored.keySet(), MAX_UNSTORED);
    }

    private void drop(long id) {
        dropped.add(id);
        limit(dropped, MAX_UNSTORED);
    }

    private static void limit(Set<Long> numbers, int most) {
        var surplus = numbers.stream().limit(Math.max(0, numbers.size() - most)).toList();
        surplus.forEach(numbers::remove);
    }

    /** Returns what is to be stored. */
    public synchronized ActionChanges unstored() {
        return new ActionChanges(
                Stream.concat(open.values().stream(), ended.values().stream()).toList(),
                List.copyOf(unstored.values()),
                List.copyOf(dropped));
    }

    /** Records that these are stored. */
    public synchronized void stored(ActionChanges changes) {
        changes.done().forEach(done -> unstored.remove(done.id()));
        changes.dropped().forEach(dropped::remove);
    }
}
