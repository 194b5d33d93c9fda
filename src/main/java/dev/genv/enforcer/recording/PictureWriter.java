package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.Picture.PictureCodec;
import dev.genv.enforcer.store.Sql;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Writes the pictures of the hosts that changed. A picture is compressed with the help of its base, the last complete one of its host. Only
 * the thread of the database uses it.
 */
final class PictureWriter {
    /** How long a base is used, in milliseconds: if it is damaged, the pictures that need it cannot be read. */
    static final long LONGEST_BASE = Duration.ofHours(6).toMillis();
    /** A new base is due when the pictures that need it are larger than it, by this factor. */
    private static final int LARGEST_DIFFERENCES = 2;
    /** In place of a picture that is too large. It cannot be inflated, so a reader knows that something is missing. */
    private static final byte[] TOO_LARGE = {0};
    /** What a row takes besides its host and its data, in bytes. */
    private static final int ROW = 100;

    private final Map<String, Recorded> hosts = new HashMap<>();
    private boolean isStarted;
    private long lastId;
    /** Continues the marks of earlier runs, so that they grow over restarts. */
    private volatile long firstMark;

    /** What was recorded of a host last. */
    private static final class Recorded {
        /** Null if an earlier run recorded it. */
        @Nullable
        Picture picture;
        /** The base as JSON; empty if it was too large. */
        byte[] json = PictureCodec.NONE;

        long base;
        long baseMark;
        /** The sizes of the base, and of what needs it. */
        long baseBytes;

        long differences;
    }

    /** When and where rows are written. */
    private record Cycle(Connection connection, long at, long mark) {}

    /** Has the next cycle record everything, because something was not written. */
    void restart() {
        isStarted = false;
    }

    /** Returns the last mark that is written. Pictures are written only if something changes, so it may be later than that of the last one. */
    static long lastMark(Connection connection) throws SQLException {
        return new Sql(connection).number("""
                        SELECT MAX(mark) FROM (SELECT MAX(mark) AS mark FROM observation
                        UNION ALL SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'mark')
                        """);
    }

    /** Writes how far the record goes, also where no picture changes. */
    void writeMark(Connection connection, long mark) throws SQLException {
        if (isStarted) {
            new Sql(connection).update("INSERT OR REPLACE INTO meta VALUES ('mark', ?)", continued(mark));
        }
    }

    /** Continues the marks of this run, of which the first one is zero. */
    long continued(long mark) {
        return firstMark + mark;
    }

    /** Records a cycle. */
    void write(Connection connection, long at, long mark, List<Snapshot> snapshots) throws SQLException {
        // If the file was replaced, or the end of a transaction failed, the last row does not exist.
        if (!isStarted
                || new Sql(connection).find("SELECT max(id) FROM observation").orElse(0L) < lastId) {
            start(connection, mark);
        }
        var cycle = new Cycle(connection, at, continued(mark));
        var present = snapshots.stream().map(Snapshot::host).collect(Collectors.toSet());
        for (var host : List.copyOf(hosts.keySet())) {
            if (!present.contains(host)) {
                insert(cycle, host, null, null);
                hosts.remove(host);
            }
        }
        for (var snapshot : snapshots) {
            write(cycle, snapshot);
        }
    }

    private void start(Connection connection, long mark) throws SQLException {
        hosts.clear();
        lastId = 0;
        // Time that was not recorded counts nothing.
        firstMark = lastMark(connection) - mark;
        var shown = new Sql(connection)
                .query(
                        "SELECT host FROM size WHERE kind = 'observation' AND (SELECT data FROM observation WHERE host = size.host"
                                + " ORDER BY at DESC, id DESC LIMIT 1) IS NOT NULL",
                        row -> row.getString(1));
        shown.forEach(host -> hosts.put(host, new Recorded()));
        isStarted = true;
    }

    private void write(Cycle cycle, Snapshot snapshot) throws SQLException {
        var host = snapshot.host();
        var known = hosts.computeIfAbsent(host, _ -> new Recorded());
        var picture = Picture.of(snapshot, known.picture);
        var isDue = known.picture == null
                || cycle.mark - known.baseMark >= LONGEST_BASE
                || known.differences > LARGEST_DIFFERENCES * known.baseBytes;
        if (known.picture != null && picture.isSame(known.picture) && !isDue) {
            return;
        }
        known.picture = picture;
        var json = picture.write().orElse(null);
        if (json != null && !isDue && hasBase(cycle.connection, known)) {
            var data = PictureCodec.deflate(json, known.json);
            insert(cycle, host, known.base, data);
            known.differences += data.length;
        } else {
            var data = json == null ? TOO_LARGE : PictureCodec.deflate(json, PictureCodec.NONE);
            known.base = insert(cycle, host, null, data);
            known.baseMark = cycle.mark;
            known.baseBytes = data.length;
            known.json = json == null ? PictureCodec.NONE : json;
            known.differences = 0;
        }
    }

    /** The limits of size and age delete a base together with the pictures that need it. */
    private static boolean hasBase(Connection connection, Recorded known) throws SQLException {
        var sql = "SELECT 1 FROM observation WHERE id = ? AND base IS NULL AND LENGTH(data) > " + TOO_LARGE.length;
        return new Sql(connection).find(sql, known.base).isPresent();
    }

    private long insert(Cycle cycle, String host, @Nullable Long base, byte @Nullable [] data) throws SQLException {
        var bytes = ROW + host.getBytes(StandardCharsets.UTF_8).length + (data == null ? 0 : data.length);
        lastId = new Sql(cycle.connection)
                .find(
                        "INSERT INTO observation (at, mark, host, base, data, bytes) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                        cycle.at,
                        cycle.mark,
                        host,
                        base,
                        data,
                        bytes)
                .orElseThrow();
        return lastId;
    }
}
