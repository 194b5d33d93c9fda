package dev.genv.enforcer.enforcement.record;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.Store.Attempt;
import dev.genv.enforcer.enforcement.record.Store.Intent;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The actions from their intent to the cycle that records their result. A result counts when it arrives, also if its cycle has ended or
 * failed meanwhile. Workers whose result is no longer awaited record here too.
 */
public final class ActionIntents {
    /** An action that hangs for ever leaves an intent, so their number is bounded. */
    static final int MAX_OPEN = 1_000;
    /** The store may not be available for long. */
    private static final int MAX_UNSTORED = 10_000;

    private final Store store;
    private final Ticker ticker;
    private final List<Intent> open = new ArrayList<>();
    /** Those that no cycle has recorded. */
    private final List<Attempt> ended = new ArrayList<>();
    /** Those that a cycle has recorded, and that may not be stored. */
    private final List<Attempt> unstored = new ArrayList<>();

    private long last;

    /** Continues after the highest number of an earlier action. */
    public ActionIntents(Store store, long last, Ticker ticker) {
        this.store = store;
        this.last = last;
        this.ticker = ticker;
    }

    /** Records that these actions are about to be executed, in the store first. */
    public void begin(List<PlannedAction> actions) {
        if (!actions.isEmpty()) {
            store.begin(add(actions));
        }
    }

    /** Records the result of an action; null if it was not executed. An action that has a result already is left alone. */
    public synchronized void end(PlannedAction action, @Nullable Result result) {
        open.removeIf(intent -> {
            var isIt = intent.planned().equals(action);
            if (isIt) {
                ended.add(new Attempt(intent.id(), ticker.now(), action, result));
            }
            return isIt;
        });
    }

    /** Records the result of an action of an earlier run. */
    public synchronized void restore(Intent intent, Result result) {
        ended.add(new Attempt(intent.id(), intent.at(), intent.planned(), result));
    }

    /** Returns the results that no cycle has recorded. */
    public synchronized List<ActionRecord> unrecorded() {
        return ended.stream().flatMap(ActionIntents::record).toList();
    }

    /**
     * Records that a cycle has taken over results.
     *
     * @param all the results that it has taken over
     * @param kept those and others that are to be kept
     */
    public synchronized void recorded(Collection<ActionRecord> all, Collection<ActionRecord> kept) {
        var others = new ArrayList<>(kept);
        ended.removeIf(attempt -> {
            var record = record(attempt).findFirst().orElse(null);
            if (record != null && !all.contains(record)) {
                return false; // it arrived meanwhile
            }
            var isKept = record != null && (others.remove(record) || mayHaveEffect(record.result()));
            unstored.add(isKept ? attempt : new Attempt(attempt.id(), attempt.at(), attempt.planned(), null));
            return true;
        });
        others.stream()
                .filter(each -> !each.result().outcome().isSkipped())
                .forEach(each -> unstored.add(new Attempt(++last, each.at(), each.planned(), each.result())));
        unstored.subList(0, Math.max(0, unstored.size() - MAX_UNSTORED)).clear();
    }

    private static boolean mayHaveEffect(Result result) {
        return result.outcome().hasEffect() || result.uncertain();
    }

    private static Stream<ActionRecord> record(Attempt attempt) {
        var result = attempt.result();
        return result == null ? Stream.of() : Stream.of(new ActionRecord(attempt.planned(), result, attempt.at()));
    }

    /** Returns the actions without a result. */
    public synchronized List<Intent> open() {
        return List.copyOf(open);
    }

    /** Returns what is to be stored. */
    public synchronized List<Attempt> unstored() {
        return List.copyOf(unstored);
    }

    /** Records that these are stored. */
    public synchronized void stored(List<Attempt> attempts) {
        unstored.removeAll(attempts);
    }

    private synchronized List<Intent> add(List<PlannedAction> actions) {
        var added = actions.stream()
                .map(action -> new Intent(++last, ticker.now(), action))
                .toList();
        open.addAll(added);
        open.subList(0, Math.max(0, open.size() - MAX_OPEN)).clear();
        return added;
    }
}
