package dev.genv.enforcer.store;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.Event.EventContent;
import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.Store.Attempt;
import dev.genv.enforcer.enforcement.record.Store.Intent;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRegistry.StoredViolation;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.policy.Violation;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The rows of actions, violations and events. */
final class StoredRows {
    private StoredRows() {}

    /** Rows of attempted actions. */
    static final class ActionRows {
        /** The outcome of an intent. */
        static final String PERHAPS = "perhaps";

        private final Sql sql;

        ActionRows(Connection connection) {
            sql = new Sql(connection);
        }

        void insert(Intent intent) throws SQLException {
            write(intent.id(), intent.at(), intent.planned(), null);
        }

        /** Writes the result of an attempt; one without a result is removed. */
        void record(Attempt attempt) throws SQLException {
            if (attempt.result() == null) {
                sql.update("DELETE FROM action WHERE id = ?", attempt.id());
            } else {
                write(attempt.id(), attempt.at(), attempt.planned(), attempt.result());
            }
        }

        private void write(long id, Instant at, PlannedAction planned, @Nullable Result result) throws SQLException {
            var action = planned.action();
            var json = result == null ? RecordJson.text(planned) : null;
            var process = action instanceof Action.Terminate terminate ? terminate.process() : null;
            sql.update("DELETE FROM action WHERE id = ?", id); // not replaced: that would call no trigger
            sql.update(
                    "INSERT INTO action VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    id,
                    at.toEpochMilli(),
                    action.host(),
                    process == null ? "detach" : "terminate",
                    result == null ? PERHAPS : result.outcome().label(),
                    result == null ? null : result.detail(),
                    userOf(planned),
                    uidOf(action),
                    action.environmentId().isEmpty() ? null : SafeText.bounded(action.environmentId()),
                    RecordJson.text(devicesOf(action)),
                    process == null ? null : process.pid(),
                    process == null ? null : process.id().startTime(),
                    process == null ? null : process.command(),
                    action instanceof Action.Terminate terminate
                            ? terminate.signal().name()
                            : null,
                    RecordJson.text(
                            planned.rules().stream().map(RuleDefinition::name).toList()),
                    json,
                    Retention.bytes(json));
        }

        private static String userOf(PlannedAction planned) {
            return planned.causes().isEmpty()
                    ? ""
                    : ViolationRows.userOf(planned.causes().getFirst());
        }

        private static @Nullable Long uidOf(Action action) {
            return switch (action) {
                case Action.Terminate(var _, GpuProcess process, var _) -> process.uid();
                case Action.Detach(var _, var environment, var _, var _) -> environment.uid();
            };
        }

        private static List<Integer> devicesOf(Action action) {
            return switch (action) {
                case Action.Terminate(var _, var process, var _) -> process.devices();
                case Action.Detach(var _, var _, var device, var _) -> List.of(device);
            };
        }

        /** Returns the actions without a result that this version can read. */
        List<Intent> intents(Set<String> unreadable) throws SQLException {
            var intents = new ArrayList<Intent>();
            sql.forEach(
                    "SELECT id, at, planned FROM action WHERE outcome = ? ORDER BY id",
                    row -> {
                        var id = row.getLong(1);
                        var at = Instant.ofEpochMilli(row.getLong(2));
                        RecordJson.read(row.getString(3), PlannedAction.class)
                                .ifPresentOrElse(
                                        planned -> intents.add(new Intent(id, at, planned)),
                                        () -> unreadable.add("an action without a result"));
                    },
                    PERHAPS);
            return intents;
        }
    }

    /** Rows of violations. */
    record ViolationRows(Sql sql) {
        /** In the column {@code cycle}: the last cycle did not find the violation. */
        private static final int NOT_FOUND = -1;

        private static final String WRITE = """
                INSERT INTO violation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET mode = excluded.mode, user = excluded.user, environment = excluded.environment,
                    message = excluded.message, last_seen = excluded.last_seen, cycle = excluded.cycle, entry = excluded.entry,
                    bytes = excluded.bytes, resolved = COALESCE(resolved, excluded.resolved)
                """;

        /** Writes an active violation. While cycles find it, its number of cycles and its last time follow from the last cycle. */
        void writeActive(StoredViolation violation, SavedCycle last) throws SQLException {
            write(violation.entry(), null, violation.isFound() ? last.cycles() : NOT_FOUND);
        }

        void writeResolved(ViolationRecord entry, Instant at) throws SQLException {
            write(entry, at.toEpochMilli(), NOT_FOUND);
        }

        private void write(ViolationRecord entry, @Nullable Long resolved, int cycle) throws SQLException {
            var violation = entry.violation();
            var json = RecordJson.text(entry);
            sql.update(
                    WRITE,
                    entry.id(),
                    entry.recency().number(),
                    violation.rule().name(),
                    entry.mode().name().toLowerCase(Locale.ROOT),
                    Objects.requireNonNullElse(violation.host(), ""),
                    userOf(violation),
                    violation.environment(),
                    violation.message(),
                    entry.firstSeen().toEpochMilli(),
                    entry.lastSeen().toEpochMilli(),
                    resolved,
                    cycle,
                    json,
                    Retention.bytes(json));
        }

        /** Removes the active violations that no cycle of this run knows. */
        void removeActiveExcept(Set<String> ids) throws SQLException {
            var others = new ArrayList<String>();
            sql.forEach("SELECT id FROM violation WHERE resolved IS NULL", row -> others.add(row.getString(1)));
            others.removeAll(ids);
            for (var id : others) {
                sql.update("DELETE FROM violation WHERE id = ?", id);
            }
        }

        /** Returns the active violations as they were after the last cycle. */
        List<ViolationRecord> active(SavedCycle last) throws SQLException {
            var active = new ArrayList<ViolationRecord>();
            sql.forEach("SELECT entry, cycle FROM violation WHERE resolved IS NULL", row -> {
                var cycle = row.getInt(2);
                RecordJson.read(row.getString(1), ViolationRecord.class)
                        .map(entry -> cycle == NOT_FOUND ? entry : entry.continued(last.cycles() - cycle, last))
                        .ifPresent(active::add);
            });
            return active;
        }

        /** Returns the latest resolved violations, oldest first, as many as fit. */
        List<ViolationRecord> latestResolved(int most, long maxBytes) throws SQLException {
            var resolved = new ArrayList<ViolationRecord>();
            var left = new long[] {maxBytes};
            sql.query(
                    "SELECT entry, bytes FROM violation WHERE resolved IS NOT NULL ORDER BY resolved DESC, number DESC LIMIT ?",
                    row -> {
                        left[0] -= row.getLong(2);
                        if (left[0] >= 0) {
                            RecordJson.read(row.getString(1), ViolationRecord.class)
                                    .ifPresent(resolved::add);
                        }
                        return left[0] >= 0 ? row : null;
                    },
                    most);
            return resolved.reversed();
        }

        /**
         * Returns the user of a violation: that of the environment; without one, that of the process. A violation of `env-owner` counts for the
         * user of the process, because the recorded user of the environment has not caused it. Empty if nobody is known.
         */
        static String userOf(Violation violation) {
            var user = violation.user();
            if (user != null && !violation.rule().isEnforcedByUids()) {
                return SafeText.bounded(user);
            }
            if (violation.processes().isEmpty()) {
                return "";
            }
            var process = violation.processes().getFirst();
            return process.account() != null
                    ? SafeText.bounded(process.account())
                    : process.uid() == null ? "" : Long.toString(process.uid());
        }
    }

    /** Rows of events. */
    static final class EventRows {
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
}
