package dev.genv.enforcer.journal;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.SavedState;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.store.RecordJson;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The types of lines. Lines of other types are left out when the journal is read. */
public final class LineTypes {
    /** From here on, entries replace all earlier ones, once the next cycle is complete. */
    public static final String CHECKPOINT = "checkpoint";
    /** An entry of the saved state. It is valid once the next cycle is complete. */
    public static final String STATE = "state";
    /** Until the next checkpoint, the history of genv's state is left out, because it was too large. */
    public static final String WITHOUT_HISTORY = "without_history";
    /** The end of a cycle, which makes its state and events valid. */
    public static final String CYCLE = "cycle";
    /** An action that is about to be executed. */
    public static final String INTENT = "intent";
    /** The result of an action. */
    public static final String OUTCOME = "outcome";

    static final String RESOLVED = "violation_resolved";

    private static final Map<String, Class<? extends EventContent>> EVENTS = Map.of(
            "violation_opened",
            EventContent.ViolationOpened.class,
            "action_recorded",
            EventContent.ActionRecorded.class,
            RESOLVED,
            EventContent.ViolationResolved.class,
            "problem_began",
            EventContent.ProblemBegan.class,
            "problem_ended",
            EventContent.ProblemEnded.class,
            "service_started",
            EventContent.ServiceStarted.class);

    private static final int LONGEST_NUMBER = 18;

    private LineTypes() {}

    /** The beginning of a checkpoint; the processes are those that pids and start times refer to. */
    public record Checkpoint(Instant at, String processes) {}

    /** An intent; the processes are those that its pid and start time refer to, which may be others than those of the checkpoint. */
    public record IntentLine(ActionIntent.Key key, Instant at, PlannedAction planned, String processes) {}

    /** An entry of the saved state; a null value removes it. */
    public record StateEntry(
            String kind, JsonNode key, @Nullable JsonNode value) {}

    /** An event without its type. */
    private record EventLine(long sequence, Instant at, JsonNode content) {}

    static byte[] encode(String type, Object fields) {
        return JournalLine.encode(type, RecordJson.write(fields));
    }

    /**
     * Returns the lines of all entries that differ. Each is encoded when it is needed, because all of them may be large.
     *
     * @param before {@link SavedState#EMPTY} for all entries
     */
    static Stream<byte[]> changes(SavedState before, SavedState now) {
        return now.all().entrySet().stream()
                .flatMap(ofKind -> changes(
                        ofKind.getKey().name(),
                        before.all().getOrDefault(ofKind.getKey(), Map.of()),
                        ofKind.getValue()));
    }

    private static Stream<byte[]> changes(
            String kind, Map<? extends Record, ? extends Record> before, Map<? extends Record, ? extends Record> now) {
        return Stream.concat(
                        now.entrySet().stream()
                                .filter(entry -> !entry.getValue().equals(before.get(entry.getKey())))
                                .map(entry -> new StateEntry(
                                        kind, RecordJson.tree(entry.getKey()), RecordJson.tree(entry.getValue()))),
                        before.keySet().stream()
                                .filter(key -> !now.containsKey(key))
                                .map(key -> new StateEntry(kind, RecordJson.tree(key), null)))
                .map(entry -> encode(STATE, entry));
    }

    /**
     * Returns the position of an event; empty for other lines. It is the first field after the type, so the rest need not be
     * parsed.
     */
    public static OptionalLong sequence(JournalLine line) {
        if (!EVENTS.containsKey(line.type())) {
            return OptionalLong.empty();
        }
        var json = line.json();
        var begin = "{\"type\":\"%s\",\"sequence\":".formatted(line.type()).length();
        var end = begin;
        while (end < json.length && end - begin < LONGEST_NUMBER && json[end] >= '0' && json[end] <= '9') {
            end++;
        }
        return end == begin
                ? OptionalLong.empty()
                : OptionalLong.of(Long.parseLong(new String(json, begin, end - begin, StandardCharsets.US_ASCII)));
    }

    public static byte[] encode(Event event) {
        var type = EVENTS.entrySet().stream()
                .filter(entry -> entry.getValue().isInstance(event.content()))
                .findFirst()
                .orElseThrow()
                .getKey();
        return encode(type, new EventLine(event.sequence(), event.at(), RecordJson.tree(event.content())));
    }

    /** Returns an event; empty if this version cannot read it. */
    public static Optional<Event> event(JournalLine line) {
        var type = EVENTS.get(line.type());
        return type == null
                ? Optional.empty()
                : RecordJson.read(line.json(), EventLine.class)
                        .flatMap(event -> RecordJson.read(event.content(), type)
                                .map(content -> new Event(event.sequence(), event.at(), content)));
    }
}
