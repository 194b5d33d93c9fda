package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.record.ActionIntents;
import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.Journal.Restored.Memory;
import dev.genv.enforcer.enforcement.record.Journal.Restored.Scope;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.SavedState.SavedKind;
import dev.genv.enforcer.store.RecordJson;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The saved state and the actions without a result, from the lines of the last segment. */
final class StateReplay {
    private static final Result LOST = Result.lost("the service was stopped before it knew the result");

    private final Map<String, SavedKind<?, ?>> kinds;
    private final Map<SavedKind<?, ?>, Map<Record, Record>> entries = new LinkedHashMap<>();
    private final List<Change> uncommitted = new ArrayList<>();
    private final SequencedMap<ActionIntent.Key, LineTypes.IntentLine> intents = new LinkedHashMap<>();
    private final Map<ActionIntent.Key, Optional<Result>> outcomes = new LinkedHashMap<>();
    private @Nullable SavedCycle cycle;
    private @Nullable String begunProcesses;
    private String processes = "";
    private long lastIntent;
    private boolean isDamaged;
    /** Damage after the last complete cycle concerns entries that are not valid anyway. */
    private boolean isDamagedSinceCycle;

    /** A change of an entry; a null value removes it. */
    private record Change(
            SavedKind<?, ?> kind, Record key, @Nullable Record value) {}

    StateReplay(List<SavedKind<?, ?>> kinds) {
        this.kinds = kinds.stream().collect(Collectors.toMap(SavedKind::name, Function.identity()));
    }

    void add(JournalLine line) {
        switch (line.type()) {
            case LineTypes.CHECKPOINT -> beginCheckpoint(line);
            case LineTypes.STATE -> addEntry(line);
            case LineTypes.WITHOUT_HISTORY -> addDamage();
            case LineTypes.CYCLE -> endCycle(line);
            case LineTypes.INTENT ->
                RecordJson.read(line.json(), LineTypes.IntentLine.class)
                        .ifPresentOrElse(this::addIntent, this::addDamage);
            case LineTypes.OUTCOME ->
                RecordJson.read(line.json(), ActionIntent.Outcome.class)
                        .ifPresentOrElse(
                                outcome -> outcomes.put(outcome.key(), Optional.ofNullable(outcome.result())),
                                this::addDamage);
            default -> {} // an event, or a line of another version
        }
    }

    /** Records that a line cannot be read: an entry may be out of date until the next checkpoint. */
    void addDamage() {
        isDamagedSinceCycle = true;
    }

    /**
     * Returns the memory of the last complete cycle; empty if there is none.
     *
     * @param processesNow the processes that identities refer to now; see {@link JournalConfig}
     */
    Optional<Memory> memory(String processesNow) {
        if (cycle == null) {
            return Optional.empty();
        }
        var state = SavedState.EMPTY;
        for (var ofKind : entries.entrySet()) {
            state = with(state, ofKind.getKey(), ofKind.getValue());
        }
        if (!areSame(processes, processesNow)) {
            return Optional.of(new Memory(cycle, state, Scope.WITHOUT_PROCESSES));
        }
        return Optional.of(new Memory(cycle, state, isDamaged ? Scope.WITHOUT_STATE_HISTORY : Scope.ALL));
    }

    /** Returns the actions that were begun and that no cycle recorded, without those that were not executed. */
    List<ActionRecord> actions(String processesNow) {
        return intents.values().stream()
                .filter(intent -> areSame(intent.processes(), processesNow))
                .flatMap(intent -> outcomes
                        .getOrDefault(intent.key(), Optional.of(LOST))
                        .map(result -> new ActionRecord(intent.planned(), result, intent.at()))
                        .stream())
                .toList();
    }

    long lastIntent() {
        return lastIntent;
    }

    private static boolean areSame(String processes, String processesNow) {
        return !processesNow.isEmpty() && processesNow.equals(processes);
    }

    private void beginCheckpoint(JournalLine line) {
        uncommitted.clear();
        isDamagedSinceCycle = false;
        begunProcesses = RecordJson.read(line.json(), LineTypes.Checkpoint.class)
                .map(LineTypes.Checkpoint::processes)
                .orElse("");
        if (cycle == null) {
            processes = begunProcesses;
        }
    }

    private void addEntry(JournalLine line) {
        var entry = RecordJson.read(line.json(), LineTypes.StateEntry.class);
        var kind = entry.map(each -> kinds.get(each.kind())).orElse(null);
        if (kind == null) {
            isDamagedSinceCycle |= entry.isEmpty();
            return; // an entry of another version
        }
        var key = RecordJson.read(entry.get().key(), kind.keyType());
        var json = entry.get().value();
        var isRemoval = json == null || json.isNull();
        var value = json == null || json.isNull() ? Optional.<Record>empty() : RecordJson.read(json, kind.valueType());
        if (key.isEmpty() || (value.isEmpty() && !isRemoval)) {
            isDamagedSinceCycle = true;
            return;
        }
        uncommitted.add(new Change(kind, key.get(), value.orElse(null)));
    }

    private void endCycle(JournalLine line) {
        var ended = RecordJson.read(line.json(), SavedCycle.class);
        if (ended.isEmpty()) {
            isDamagedSinceCycle = true;
            return;
        }
        isDamaged |= isDamagedSinceCycle;
        if (begunProcesses != null) {
            isDamaged = isDamagedSinceCycle;
            entries.clear();
            processes = begunProcesses;
            begunProcesses = null;
        }
        uncommitted.forEach(change -> {
            var ofKind = entries.computeIfAbsent(change.kind, _ -> new LinkedHashMap<>());
            if (change.value == null) {
                ofKind.remove(change.key);
            } else {
                ofKind.put(change.key, change.value);
            }
        });
        uncommitted.clear();
        isDamagedSinceCycle = false;
        cycle = ended.get();
        lastIntent = Math.max(lastIntent, cycle.lastIntent());
        keepOpenIntents();
    }

    /** A cycle recorded the results of all actions except those that it saved as open. */
    private void keepOpenIntents() {
        var intentsKind = ActionIntents.INTENTS;
        var open = with(SavedState.EMPTY, intentsKind, entries.getOrDefault(intentsKind, Map.of()));
        var kept = new HashSet<ActionIntent.Key>();
        for (var intent : ActionIntents.in(open)) {
            intents.put(intent.key(), new LineTypes.IntentLine(intent.key(), intent.at(), intent.planned(), processes));
            kept.add(intent.key());
        }
        intents.keySet().retainAll(kept);
        outcomes.keySet().retainAll(kept);
    }

    private void addIntent(LineTypes.IntentLine intent) {
        intents.put(intent.key(), intent);
        lastIntent = Math.max(lastIntent, intent.key().id());
    }

    private static <K extends Record, V extends Record> SavedState with(
            SavedState state, SavedKind<K, V> kind, Map<Record, Record> ofKind) {
        var typed = new LinkedHashMap<K, V>();
        ofKind.forEach((key, value) -> typed.put(
                Objects.requireNonNull(kind.keyType().cast(key)),
                Objects.requireNonNull(kind.valueType().cast(value))));
        return state.with(kind, typed);
    }
}
