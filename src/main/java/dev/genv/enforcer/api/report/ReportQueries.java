package dev.genv.enforcer.api.report;

import dev.genv.enforcer.api.query.QueryParameters.Period;
import dev.genv.enforcer.api.report.ReportView.HostHours;
import dev.genv.enforcer.api.report.ReportView.RuleCounts;
import dev.genv.enforcer.api.report.ReportView.TimelineEntry;
import dev.genv.enforcer.api.report.ReportView.UserHours;
import dev.genv.enforcer.api.report.ReportView.UserTotals;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.store.StoreException;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Reads the report of a period from the database. Hours are read in slices, so that its thread is never busy for long. */
final class ReportQueries {
    /** The largest number of pairs of a user and a host or a rule, because users can write any name. The others count for no user. */
    static final int MAX_ROWS = 10_000;

    private static final long HOUR = Duration.ofHours(1).toMillis();
    private static final long SLICE = 48 * HOUR;
    private static final double TEN_THOUSAND = 10_000;
    private static final int PARTS = 24;
    private static final int HOUR_COLUMNS = 5;
    private static final int COUNT_COLUMNS = 3;
    /** Violations and actions of a period, by user and by what else is asked for. */
    private static final String COUNTS = """
        SELECT user, other, sum(violations), sum(terminations), sum(detachments) FROM (
            SELECT user, %s AS other, 1 AS violations, 0 AS terminations, 0 AS detachments FROM violation
                WHERE first_seen BETWEEN ?1 AND ?2
            UNION ALL
            SELECT user, %s, 0, action.type = 'terminate', action.type = 'detach' FROM %s WHERE at BETWEEN ?1 AND ?2
                AND (action.type = 'terminate' AND outcome = 'signalled' AND signal = 'TERM'
                    OR action.type = 'detach' AND outcome = 'detached'))
        GROUP BY user, other
        """;

    private static final String BY_USER = COUNTS.formatted("''", "''", "action");
    /** An action counts for each of its rules. */
    private static final String BY_RULE = COUNTS.formatted("rule", "each.value", "action, json_each(rules) AS each");

    private static final String USAGE =
            "SELECT user, host, sum(held), sum(present), sum(used), sum(unknown), sum(idle) FROM usage WHERE hour"
                    + " BETWEEN ? AND ? GROUP BY user, host";
    private static final String OBSERVED =
            "SELECT '', host, sum(time) FROM observed WHERE hour BETWEEN ? AND ? GROUP BY host";

    private final Database database;
    private final Period period;
    private final long from;
    private final long to;

    /** A user, and a host or a rule. */
    private record Key(String user, String other) {
        static final Comparator<Key> ORDER = Comparator.comparing((Key key) -> key.user.isEmpty())
                .thenComparing(Key::user)
                .thenComparing(Key::other);

        @Nullable
        String name() {
            return user.isEmpty() ? null : user;
        }
    }

    /** The sums of the columns after the key, in the order of the query. */
    private static long[] sums(ResultSet row) throws SQLException {
        var sums = new long[row.getMetaData().getColumnCount() - 2];
        for (var column = 0; column < sums.length; column++) {
            sums[column] = row.getLong(column + 3);
        }
        return sums;
    }

    private static long[] plus(long[] one, long[] other) {
        return IntStream.range(0, one.length)
                .mapToLong(column -> one[column] + other[column])
                .toArray();
    }

    /** Returns the device hours of a user, rounded: held, present, used, unknown and idle ones as they are stored, and unattached ones. */
    private static double[] deviceHours(long[] sums) {
        var unattached = sums[2] + sums[3] + sums[4] - sums[0];
        return LongStream.concat(LongStream.of(sums), LongStream.of(unattached))
                .mapToDouble(ReportQueries::hours)
                .toArray();
    }

    ReportQueries(Database database, Period period) {
        this.database = database;
        this.period = period;
        from = period.from().toEpochMilli();
        to = period.to().toEpochMilli();
    }

    ReportView read() throws StoreException {
        var usage = hours(USAGE);
        return new ReportView(
                period.from(),
                period.to(),
                instant("SELECT min(hour) FROM observed"),
                instant("SELECT at FROM event ORDER BY sequence LIMIT 1"),
                number("SELECT 1 FROM meta WHERE key = 'damaged' AND CAST(value AS INTEGER) > ?", from)
                        .isEmpty(),
                rows(hours(OBSERVED), (key, sums) -> new HostHours(key.other, hours(sums[0]))),
                rows(usage, (key, sums) -> {
                    var its = deviceHours(sums);
                    return new UserHours(key.name(), key.other, its[0], its[1], its[2], its[3], its[4], its[5]);
                }),
                totals(usage, sums(BY_USER, from, to, to - from + 1)),
                rows(
                        sums(BY_RULE, from, to, to - from + 1),
                        (key, sums) -> new RuleCounts(key.name(), key.other, sums[0], sums[1], sums[2])),
                timeline());
    }

    private static List<UserTotals> totals(Map<Key, long[]> usage, Map<Key, long[]> counts) {
        var hours = new HashMap<Key, long[]>();
        usage.forEach((key, sums) -> hours.merge(new Key(key.user, ""), sums, ReportQueries::plus));
        counts.keySet().forEach(key -> hours.putIfAbsent(key, new long[HOUR_COLUMNS]));
        return rows(hours, (key, sums) -> {
            var its = deviceHours(sums);
            var all = counts.getOrDefault(key, new long[COUNT_COLUMNS]);
            return new UserTotals(key.name(), its[0], its[1], its[2], its[3], its[4], its[5], all[0], all[1], all[2]);
        });
    }

    /** Adds up every hour that overlaps the period. */
    private Map<Key, long[]> hours(String sql) throws StoreException {
        var first = number("SELECT min(hour) FROM observed").orElse(0L);
        var last = Math.min(to, number("SELECT max(hour) FROM observed").orElse(0L));
        return sums(sql, Math.max(first, from - HOUR + 1), last, SLICE);
    }

    private Map<Key, long[]> sums(String sql, long first, long last, long slice) throws StoreException {
        var sums = new HashMap<Key, long[]>();
        for (var each = first; each <= last; each += slice) {
            var begin = each;
            var end = Math.min(begin + slice - 1, last);
            database.call(connection -> {
                new Sql(connection)
                        .forEach(
                                sql,
                                row -> {
                                    var key = new Key(row.getString(1), row.getString(2));
                                    var hasRow = sums.containsKey(key) || sums.size() < MAX_ROWS;
                                    sums.merge(hasRow ? key : new Key("", key.other), sums(row), ReportQueries::plus);
                                },
                                begin,
                                end);
                return true;
            });
        }
        return sums;
    }

    private static <T> List<T> rows(Map<Key, long[]> sums, BiFunction<Key, long[], T> row) {
        return sums.entrySet().stream()
                .sorted(Map.Entry.comparingByKey(Key.ORDER))
                .map(entry -> row.apply(entry.getKey(), entry.getValue()))
                .toList();
    }

    /** A part has at least a millisecond, so that an instant is a period too. */
    private List<TimelineEntry> timeline() throws StoreException {
        var part = Math.max(1, (to - from) / PARTS);
        return database.call(connection -> new Sql(connection)
                .query(
                        "SELECT min(?, (first_seen - ?) / ?) AS part, rule, count(*) FROM violation WHERE first_seen"
                                + " BETWEEN ? AND ? GROUP BY part, rule ORDER BY part, rule",
                        row -> new TimelineEntry(
                                Instant.ofEpochMilli(from + row.getLong(1) * part), row.getString(2), row.getLong(3)),
                        PARTS - 1,
                        from,
                        part,
                        from,
                        to));
    }

    private @Nullable Instant instant(String sql) throws StoreException {
        return number(sql).map(Instant::ofEpochMilli).orElse(null);
    }

    private Optional<Long> number(String sql, Object... values) throws StoreException {
        return database.call(connection -> new Sql(connection).find(sql, values));
    }

    /** Rounded to a third of a second. */
    private static double hours(long millis) {
        return Math.round(millis * TEN_THOUSAND / HOUR) / TEN_THOUSAND;
    }
}
