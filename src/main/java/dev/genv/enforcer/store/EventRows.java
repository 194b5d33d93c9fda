package dev.genv.enforcer.store;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** The rows of the table of events. */
final class EventRows {
    private static final Map<String, Class<? extends EventContent>> TYPES = Map.of(
            "violation_opened",
            EventContent.ViolationOpened.class,
            "action",
            EventContent.ActionRecorded.class,
            "violation_resolved",
            EventContent.ViolationResolved.class,
            "problem_began",
            EventContent.ProblemBegan.class,
            "problem_ended",
            EventContent.ProblemEnded.class,
            "service_started",
            EventContent.ServiceStarted.class);

    private EventRows() {}

    /** Inserts an event, unless an earlier commit did. */
    static void insert(Sql sql, Event event) throws SQLException {
        var content = event.content();
        var type = TYPES.entrySet().stream()
                .filter(entry -> entry.getValue().isInstance(content))
                .findFirst()
                .orElseThrow()
                .getKey();
        var json = RecordJson.text(content);
        sql.update(
                "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?)",
                event.sequence(),
                event.at().toEpochMilli(),
                type,
                host(content),
                json,
                Retention.bytes(json));
    }

    /** Returns the violation that an event concerns. */
    static Optional<ViolationRecord> violation(EventContent content) {
        return switch (content) {
            case EventContent.ViolationOpened(var violation) -> Optional.of(violation);
            case EventContent.ActionRecorded(var violation, var _) -> Optional.of(violation);
            case EventContent.ViolationResolved(var violation) -> Optional.of(violation);
            case EventContent.ProblemBegan _, EventContent.ProblemEnded _, EventContent.ServiceStarted _ ->
                Optional.empty();
        };
    }

    private static String host(EventContent content) {
        return switch (content) {
            case EventContent.ProblemBegan(var host, var _) -> host;
            case EventContent.ProblemEnded(var host, var _) -> host;
            default ->
                violation(content)
                        .map(entry ->
                                Objects.requireNonNullElse(entry.violation().host(), ""))
                        .orElse("");
        };
    }

    /** Returns the latest events, oldest first, as many as fit; those that this version cannot read are left out. */
    static List<Event> latest(Sql sql, int most, long maxBytes) throws SQLException {
        var events = new ArrayList<Event>();
        var left = new long[] {maxBytes};
        sql.query(
                "SELECT sequence, at, type, content, bytes FROM event ORDER BY sequence DESC LIMIT ?",
                row -> {
                    left[0] -= row.getLong(5);
                    var type = TYPES.get(row.getString(3));
                    if (left[0] >= 0 && type != null) {
                        var at = Instant.ofEpochMilli(row.getLong(2));
                        var sequence = row.getLong(1);
                        RecordJson.read(row.getString(4), type)
                                .ifPresent(content -> events.add(new Event(sequence, at, content)));
                    }
                    return left[0] >= 0 ? row : null;
                },
                most);
        return events.reversed();
    }
}
