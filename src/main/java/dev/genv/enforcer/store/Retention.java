package dev.genv.enforcer.store;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Deletes what is too old, or more than the share of its kind. Within a kind the host with the most bytes loses its oldest rows, so that no
 * host displaces the past of another one.
 */
public final class Retention {
    /** The estimated size of a row without its JSON, with its indexes. */
    private static final long ROW_BYTES = 200;
    /** A step deletes at most 500 rows of a host, so that a cycle is not delayed. */
    private static final int MOST_STEPS = 20;

    private static final Duration BY_AGE = Duration.ofHours(1);
    /** How long pictures need the same whole one. */
    private static final Duration LONGEST_GROUP = Duration.ofHours(6);

    private static final int FREED_PAGES = 1000;
    /** The estimated size of a row of usage. */
    private static final int USAGE_BYTES = 100;

    private final long maxBytes;
    private final Duration maxAge;
    private @Nullable Instant lastByAge;
    /** Whether rows were deleted whose pages may be free. */
    private boolean hasFreed;

    /**
     * A kind of rows, and its share of the database in sixteenths. An eighth each is for usage, for the history, and for indexes and
     * pages that are not full.
     *
     * @param oldest selects the keys of the oldest rows of a host
     */
    private record Kind(String table, int share, String oldest) {}

    private static final List<Kind> KINDS = List.of(
            new Kind(
                    "event", 2, "sequence IN (SELECT sequence FROM event WHERE host = ?1 ORDER BY sequence LIMIT 500)"),
            new Kind(
                    "action",
                    1,
                    "id IN (SELECT id FROM action WHERE host = ?1 AND outcome <> 'perhaps' ORDER BY id LIMIT 500)"),
            new Kind(
                    "violation",
                    1,
                    "id IN (SELECT id FROM violation WHERE host = ?1 AND resolved IS NOT NULL ORDER BY resolved LIMIT 500)"),
            // A whole picture goes together with those that need it.
            new Kind("observation", 6, """
                    host = ?1 AND id <
                        (SELECT id FROM observation WHERE host = ?1 AND base IS NULL ORDER BY id LIMIT 1 OFFSET 1)
                    """));

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
        hasFreed |= deleteOld(sql, now);
        if (hasFreed) {
            sql.execute("PRAGMA incremental_vacuum(%d)".formatted(FREED_PAGES));
            hasFreed = false;
        }
    }

    /** Deletes some of what is above the share of its kind, between the rows of a cycle. */
    void deleteSome(Sql sql) throws SQLException {
        keepShares(sql, 1);
    }

    private void keepShares(Sql sql, int most) throws SQLException {
        for (var kind : KINDS) {
            for (var step = 0; step < most && isAbove(sql, kind) && deleteOldest(sql, kind); step++) {
                hasFreed = true;
            }
        }
    }

    /** Deletes the oldest rows of each kind, because the indexes need more than was left for them. Returns whether there were any. */
    boolean makeRoom(Sql sql) throws SQLException {
        var isChanged = false;
        for (var kind : KINDS) {
            isChanged |= deleteOldest(sql, kind);
        }
        return isChanged || deleteOldestUsage(sql);
    }

    private boolean isAbove(Sql sql, Kind kind) throws SQLException {
        return sql.number("SELECT SUM(bytes) FROM size WHERE kind = ?", kind.table) > maxBytes / 16 * kind.share;
    }

    /** Returns whether anything was deleted. */
    private static boolean deleteOldest(Sql sql, Kind kind) throws SQLException {
        var hosts = new ArrayList<String>();
        sql.forEach(
                "SELECT host FROM size WHERE kind = ? ORDER BY bytes DESC",
                row -> hosts.add(row.getString(1)),
                kind.table);
        for (var host : hosts) {
            if (sql.update("DELETE FROM %s WHERE %s".formatted(kind.table, kind.oldest), host) > 0) {
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
    private boolean deleteOld(Sql sql, Instant now) throws SQLException {
        var last = lastByAge;
        if (last != null && Duration.between(last, now).abs().compareTo(BY_AGE) < 0) {
            return false;
        }
        lastByAge = now;
        var trusted = last == null || now.isBefore(last.plus(BY_AGE.multipliedBy(2))) ? now : last;
        var oldest = trusted.minus(maxAge).toEpochMilli();
        // The order of the events is that of their time, and there is no index of the time.
        sql.update(
                "DELETE FROM event WHERE sequence < (SELECT sequence FROM event WHERE at >= ? ORDER BY sequence LIMIT 1)",
                oldest);
        sql.update("DELETE FROM action WHERE at < ? AND outcome <> 'perhaps'", oldest);
        sql.update("DELETE FROM violation WHERE resolved < ?", oldest);
        sql.update("DELETE FROM observation WHERE at < ?", oldest - LONGEST_GROUP.toMillis());
        sql.update("DELETE FROM usage WHERE hour < ?", oldest);
        sql.update("DELETE FROM observed WHERE hour < ?", oldest);
        for (var step = 0;
                step < MOST_STEPS && sql.number("SELECT COUNT(*) FROM usage") * USAGE_BYTES > maxBytes / 8;
                step++) {
            deleteOldestUsage(sql);
        }
        return true;
    }
}
