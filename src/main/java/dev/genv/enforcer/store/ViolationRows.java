package dev.genv.enforcer.store;

import dev.genv.enforcer.enforcement.record.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.record.ViolationRecord;
import dev.genv.enforcer.enforcement.record.ViolationRegistry.StoredViolation;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.policy.Violation;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The rows of the table of violations. */
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
                        RecordJson.read(row.getString(1), ViolationRecord.class).ifPresent(resolved::add);
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
