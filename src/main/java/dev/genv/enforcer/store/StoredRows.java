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
import dev.genv.enforcer.policy.Violation;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.PriorityQueue;
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
        var fitting = new FittingRows(most, maxBytes);
        sql.forEach(
                "SELECT rowid, bytes, host, owner FROM %s ORDER BY %s".formatted(table, latestFirst),
                row -> fitting.add(row.getLong(1), row.getLong(2), new Share(row.getString(3), row.getString(4))));
        var latest = new ArrayList<T>();
        for (var id : fitting.oldestFirst()) {
            sql.query("SELECT %s FROM %s WHERE rowid = ?".formatted(columns, table), reader::read, id).stream()
                    .flatMap(Optional::stream)
                    .forEach(latest::add);
        }
        return latest;
    }

    /**
     * The rows that fit, chosen while all rows are read, latest first. A window function of SQLite would do the same and keep a table of all
     * rows in memory.
     */
    private static final class FittingRows {
        /** A row, and the bytes of the rows of its share from the latest to this one. */
        private record Fitting(long number, long id, long bytes, long latestBytes) {}

        private final int most;
        private final long maxBytes;
        private final Map<Share, Long> bytesOfShares = new HashMap<>();
        private final PriorityQueue<Fitting> rows = new PriorityQueue<>(
                Comparator.comparingLong(Fitting::latestBytes).reversed());
        private long read;
        private long total;
        /** What does not fit: later rows of a share with as many bytes do not fit either. */
        private long tooMany = Long.MAX_VALUE;

        FittingRows(int most, long maxBytes) {
            this.most = most;
            this.maxBytes = maxBytes;
        }

        void add(long id, long bytes, Share share) {
            var latestBytes = bytesOfShares.merge(share, bytes, Long::sum);
            if (latestBytes >= tooMany) {
                return;
            }
            rows.add(new Fitting(read++, id, bytes, latestBytes));
            total += bytes;
            while (rows.size() > most || total > maxBytes) {
                var last = rows.remove();
                total -= last.bytes();
                tooMany = last.latestBytes();
            }
        }

        List<Long> oldestFirst() {
            return rows.stream()
                    .sorted(Comparator.comparingLong(Fitting::number).reversed())
                    .map(Fitting::id)
                    .toList();
        }
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
                    row.planned().user().orElse(""),
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
