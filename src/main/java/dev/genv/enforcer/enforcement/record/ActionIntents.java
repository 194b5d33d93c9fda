package dev.genv.enforcer.enforcement.record;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/** The actions that are about to be executed and have no result yet. Workers whose result is no longer awaited also record here. */
public final class ActionIntents {
    /** An action that hangs for ever leaves an intent, so their number is bounded. */
    static final int MAX_OPEN = 1_000;

    public static final SavedKind<ActionIntent.Key, ActionIntent> INTENTS =
            new SavedKind<>("intent", ActionIntent.Key.class, ActionIntent.class);

    private final Journal journal;
    private final Ticker ticker;
    private final SequencedMap<ActionIntent.Key, ActionIntent> open = new LinkedHashMap<>();
    private long last;

    /** Creates an empty list; the last number is the highest one of an earlier intent. */
    public ActionIntents(Journal journal, long last, Ticker ticker) {
        this.journal = journal;
        this.last = last;
        this.ticker = ticker;
    }

    /** Returns the intents in a saved state. */
    public static List<ActionIntent> in(SavedState state) {
        return List.copyOf(state.get(INTENTS).values());
    }

    /** Records that these actions are about to be executed, in the journal first. */
    public void begin(List<PlannedAction> actions) {
        if (!actions.isEmpty()) {
            journal.begin(add(actions));
        }
    }

    /** Records the result of an action; null if it was not executed. An action that has a result already is left alone. */
    public void end(PlannedAction action, @Nullable Result result) {
        for (var key : remove(action)) {
            journal.end(new ActionIntent.Outcome(key, ticker.now(), result));
        }
    }

    /** Returns the actions without a result, to continue them in another run of the service. */
    public synchronized SavedState save() {
        return SavedState.EMPTY.with(INTENTS, new LinkedHashMap<>(open));
    }

    /** The highest number of an intent. */
    public synchronized long last() {
        return last;
    }

    private synchronized List<ActionIntent> add(List<PlannedAction> actions) {
        var added = new ArrayList<ActionIntent>(actions.size());
        for (var action : actions) {
            var intent = new ActionIntent(new ActionIntent.Key(++last), ticker.now(), action);
            open.put(intent.key(), intent);
            added.add(intent);
        }
        while (open.size() > MAX_OPEN) {
            open.pollFirstEntry();
        }
        return added;
    }

    private synchronized List<ActionIntent.Key> remove(PlannedAction action) {
        var keys = open.values().stream()
                .filter(intent -> intent.planned().equals(action))
                .map(ActionIntent::key)
                .toList();
        keys.forEach(open::remove);
        return keys;
    }

    /** An action that is about to be executed. */
    public record ActionIntent(Key key, Instant at, PlannedAction planned) {
        /** Identifies an intent by a number that is higher than that of every earlier one. */
        public record Key(long id) {}

        /** What became of an intent; the result is null if the action was not executed. */
        public record Outcome(Key key, Instant at, @Nullable Result result) {}
    }
}
