package dev.genv.enforcer.store;

import dev.genv.enforcer.enforcement.report.Share;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Deletes what is too old, or more than the part of its kind. Within a kind the host with the most bytes loses the oldest rows of the owner
 * with the most bytes there, so that no host and no user displaces the past of another one.
 */
public final class Retention {
    /** The estimated size of a row without its JSON, with its indexes. */
    private static final long ROW_BYTES = 200;
    /** A step deletes at most 500 rows, so that a cycle is not delayed. */
    private static final int MOST_STEPS = 20;

    private static final Duration BY_AGE = Duration.ofHours(1);
    /** So many free pages are kept for new rows, and so many of the others are taken from the file in a cycle. */
    private static final int FREE_PAGES = 1000;

    /** The estimated size of a row of usage. */
    private static final int USAGE_BYTES = 100;

    private final long maxBytes;
    private final Duration maxAge;
    private @Nullable Instant lastByAge;

    /**
     * A kind of rows, and its part of the database in sixteenths. An eighth each is for usage, for the history, and for indexes and
     * pages that are not full.
     *
     * @param oldest selects at most 500 of the oldest rows of a host and an owner, whose bytes are as much as is to be deleted
     */
    private record Kind(String table, int sixteenths, String oldest) {
        /** Deletes the oldest rows that the condition permits. */
        Kind(String table, int sixteenths, String condition, String order) {
            this(table, sixteenths, """
                    rowid IN (SELECT its FROM (
                        SELECT rowid AS its, SUM(bytes) OVER (ORDER BY %3$s, rowid) - bytes AS older FROM (
                            SELECT rowid, * FROM %1$s WHERE host = ?1 AND owner = ?2 AND %2$s ORDER BY %3$s, rowid LIMIT 500))
                        WHERE older < ?3)
                    """.formatted(table, condition, order));
        }
    }

    private static final List<Kind> KINDS = List.of(
            new Kind("event", 6, "TRUE", "sequence"),
            new Kind("action", 2, "outcome <> 'perhaps'", "id"),
            new Kind("violation", 2, "resolved IS NOT NULL", "resolved"));

    /**
     * Creates the limits.
     *
     * @param maxBytes the largest size of the database
     * @param maxAge the age above which rows are deleted
     */
    public Retention(long maxBytes, Duration maxAge) {
        this.maxBytes = maxBytes;
        this.maxAge = maxAge;
    }

    /** Returns the size of a row with this JSON. */
    static long bytes(@Nullable String json) {
        return ROW_BYTES + (json == null ? 0 : json.getBytes(StandardCharsets.UTF_8).length);
    }

    /** Records the time of the last cycle of an earlier run. */
    void continueFrom(Instant last) {
        lastByAge = last;
    }

    /** Deletes what is above the limits, as far as a cycle has time for it. */
    void apply(Sql sql, Instant now) throws SQLException {
        keepShares(sql, MOST_STEPS);
        deleteOld(sql, now);
        if (sql.number("PRAGMA freelist_count") > FREE_PAGES) {
            sql.vacuum(FREE_PAGES);
        }
    }

    /** Deletes some of what is above the share of its kind, between the rows of a cycle. */
    void deleteSome(Sql sql) throws SQLException {
        keepShares(sql, 1);
    }

    private void keepShares(Sql sql, int most) throws SQLException {
        for (var kind : KINDS) {
            var part = maxBytes / 16 * kind.sixteenths;
            for (var step = 0; step < most; step++) {
                var surplus = sql.number("SELECT SUM(bytes) FROM size WHERE kind = ?", kind.table) - part;
                if (surplus <= 0 || !deleteOldest(sql, kind, surplus + part / 32)) {
                    break;
                }
            }
        }
    }

    /** Deletes the oldest rows of each kind, because the indexes need more than was left for them. Returns whether there were any. */
    boolean makeRoom(Sql sql) throws SQLException {
        var isChanged = false;
        for (var kind : KINDS) {
            isChanged |= deleteOldest(sql, kind, maxBytes);
        }
        return isChanged || deleteOldestUsage(sql);
    }

    /** Deletes rows of at least these bytes, if a step can. Returns whether anything was deleted. */
    private static boolean deleteOldest(Sql sql, Kind kind, long bytes) throws SQLException {
        var shares = sql.query(
                "SELECT host, owner, SUM(bytes) OVER (PARTITION BY host) AS of_host FROM size WHERE kind = ? AND bytes > 0"
                        + " ORDER BY of_host DESC, host, bytes DESC",
                row -> new Share(row.getString(1), row.getString(2)),
                kind.table);
        for (var share : shares) {
            if (sql.update(
                            "DELETE FROM %s WHERE %s".formatted(kind.table, kind.oldest),
                            share.host(),
                            share.owner(),
                            bytes)
                    > 0) {
                return true;
            }
        }
        return false;
    }

    /** Deletes the older half of the usage of the host with the most rows. */
    private static boolean deleteOldestUsage(Sql sql) throws SQLException {
        return sql.update("""
                        DELETE FROM usage WHERE host = (SELECT host FROM usage GROUP BY host ORDER BY COUNT(*) DESC LIMIT 1)
                        AND hour <= (SELECT (MIN(hour) + MAX(hour)) / 2 FROM usage AS its WHERE its.host = usage.host)
                        """) > 0;
    }

    /** Deletes by age once an hour. A clock that is ahead for a moment deletes nothing: the earlier time counts. */
    private void deleteOld(Sql sql, Instant now) throws SQLException {
        var last = lastByAge;
        if (last != null && Duration.between(last, now).abs().compareTo(BY_AGE) < 0) {
            return;
        }
        lastByAge = now;
        var trusted = last == null || now.isBefore(last.plus(BY_AGE.multipliedBy(2))) ? now : last;
        var oldest = trusted.minus(maxAge).toEpochMilli();
        // The order of the events is that of their time, and there is no index of the time.
        sql.update("""
                DELETE FROM event WHERE sequence < COALESCE(
                    (SELECT sequence FROM event WHERE at >= ? ORDER BY sequence LIMIT 1), (SELECT MAX(sequence) + 1 FROM event))
                """, oldest);
        sql.update("DELETE FROM action WHERE at < ?", oldest);
        sql.update("DELETE FROM violation WHERE resolved < ?", oldest);
        sql.update("DELETE FROM usage WHERE hour < ?", oldest);
        sql.update("DELETE FROM observed WHERE hour < ?", oldest);
        sql.update("DELETE FROM size WHERE bytes = 0");
        for (var step = 0;
                step < MOST_STEPS && sql.number("SELECT COUNT(*) FROM usage") * USAGE_BYTES > maxBytes / 8;
                step++) {
            deleteOldestUsage(sql);
        }
    }
}
