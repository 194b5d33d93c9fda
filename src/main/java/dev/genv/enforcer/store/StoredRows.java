package dev.genv.enforcer.store;

import dev.genv.enforcer.enforcement.host.ActionRecord;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.Share;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry.StoredViolation;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.policy.Plan.PlannedAction;
import dev.genv.enforcer.policy.Violation;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The rows of actions, violations and events. */
final class StoredRows {
    private StoredRows() {}

    private interface Row<T> {
        Optional<T> read(ResultSet row) throws SQLException;
    }

    /**
     * Returns the latest rows of every share, oldest first, as many as fit: a share that needs less than the others is complete. Those that
     * this version cannot read are left out.
     */
    private static <T> List<T> latestRows(
            Sql sql, String table, String latestFirst, String columns, int most, long maxBytes, Row<T> reader)
            throws SQLException {
        var query = """
                SELECT %3$s FROM (
                    SELECT its, SUM(bytes) OVER (ORDER BY upto, its) AS total FROM (
                        SELECT rowid AS its, bytes, SUM(bytes) OVER (PARTITION BY host, owner ORDER BY %2$s) AS upto FROM %1$s)
                    ORDER BY upto, its LIMIT ?) JOIN %1$s AS latest ON latest.rowid = its WHERE total <= ? ORDER BY %2$s
                """.formatted(table, latestFirst, columns);
        return sql.query(query, reader::read, most, maxBytes).reversed().stream()
                .flatMap(Optional::stream)
                .toList();
    }

    record ActionRows(Sql sql) {
        /** Writes an action, also if an earlier commit wrote it. */
        void write(long id, ActionRecord row) throws SQLException {
            var detail = row.result().detail() == null
                    ? null
                    : SafeText.cut(row.result().detail());
            var action = row.planned().action();
            var termination = action instanceof Action.Terminate terminate ? terminate : null;
            var process = termination == null ? null : termination.process();
            sql.update("DELETE FROM action WHERE id = ?", id); // not replaced: that would call no trigger
            sql.update(
                    "INSERT INTO action VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    id,
                    row.at().toEpochMilli(),
                    action.host(),
                    action.type(),
                    row.result().outcome().label(),
                    detail,
                    userOf(row.planned()),
                    action.uid(),
                    action.environmentId().isEmpty() ? null : SafeText.bounded(action.environmentId()),
                    RecordJson.text(action.devices()),
                    process == null ? null : process.pid(),
                    process == null ? null : process.id().startTime(),
                    process == null ? null : process.command(),
                    termination == null ? null : termination.signal().name(),
                    RecordJson.text(row.planned().ruleNames()),
                    Retention.bytes(detail),
                    Share.of(action.host(), Optional.ofNullable(process)).owner());
        }

        private static String userOf(PlannedAction planned) {
            return planned.causes().isEmpty()
                    ? ""
                    : ViolationRows.userOf(planned.causes().getFirst());
        }
    }

    record ViolationRows(Sql sql) {
        /** In the column {@code cycle}: the last cycle did not find the violation. */
        private static final int NOT_FOUND = -1;

        private static final String WRITE = """
            INSERT INTO violation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET mode = excluded.mode, user = excluded.user, environment = excluded.environment,
                message = excluded.message, last_seen = excluded.last_seen, cycle = excluded.cycle, entry = excluded.entry,
                bytes = excluded.bytes, owner = excluded.owner, resolved = COALESCE(resolved, excluded.resolved)
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
            var json = RecordJson.bounded(entry);
            sql.update(
                    WRITE,
                    entry.id(),
                    entry.recency().number(),
                    violation.rule().name(),
                    entry.mode().name().toLowerCase(Locale.ROOT),
                    Share.of(violation).host(),
                    userOf(violation),
                    violation.environment() == null ? null : SafeText.bounded(violation.environment()),
                    SafeText.cut(violation.message()),
                    entry.firstSeen().toEpochMilli(),
                    entry.lastSeen().toEpochMilli(),
                    resolved,
                    cycle,
                    json,
                    Retention.bytes(json),
                    Share.of(violation).owner());
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
                        .map(entry -> cycle == NOT_FOUND
                                ? entry
                                : entry.continued(
                                        last.cycles() - cycle,
                                        entry.violation(),
                                        entry.mode(),
                                        last.at(),
                                        last.latest(),
                                        entry.next()))
                        .ifPresent(active::add);
            });
            return active;
        }

        /** Returns the latest resolved violations, oldest first, as many as fit. */
        List<ViolationRecord> latestResolved(int most, long maxBytes) throws SQLException {
            return latestRows(
                    sql,
                    "(SELECT rowid, * FROM violation WHERE resolved IS NOT NULL)",
                    "resolved DESC, number DESC",
                    "entry",
                    most,
                    maxBytes,
                    row -> RecordJson.read(row.getString(1), ViolationRecord.class));
        }

        /** Returns the user of a violation; empty if nobody is known. */
        static String userOf(Violation violation) {
            return Objects.requireNonNullElse(violation.countedUser(), "");
        }
    }

    static final class EventRows {
        private EventRows() {}

        /** Inserts an event, unless an earlier commit did. */
        static void insert(Sql sql, Event event) throws SQLException {
            var content = event.content();
            var json = RecordJson.bounded(content);
            var share = event.share();
            sql.update(
                    "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?, ?)",
                    event.sequence(),
                    event.at().toEpochMilli(),
                    content.type(),
                    share.host(),
                    json,
                    Retention.bytes(json),
                    share.owner());
        }

        /** Returns the violation that an event concerns. */
        static Optional<ViolationRecord> violation(EventContent content) {
            return content instanceof EventContent.OfViolation its ? Optional.of(its.violation()) : Optional.empty();
        }

        /** Returns the latest events, oldest first, as many as fit; those that this version cannot read are left out. */
        static List<Event> latest(Sql sql, int most, long maxBytes) throws SQLException {
            return latestRows(sql, "event", "sequence DESC", "sequence, at, type, content", most, maxBytes, row -> {
                var sequence = row.getLong(1);
                var at = Instant.ofEpochMilli(row.getLong(2));
                var json = row.getString(4);
                return Optional.ofNullable(EventContent.TYPES.get(row.getString(3)))
                        .flatMap(type -> RecordJson.read(json, type))
                        .map(content -> new Event(sequence, at, content));
            });
        }
    }
}
