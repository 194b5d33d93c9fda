package dev.genv.enforcer.recording;

import dev.genv.enforcer.recording.Picture.PictureCodec;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.store.StoreException;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.zip.DataFormatException;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Reads recorded pictures in pages, so that the thread of the database is never busy for long. */
public final class PictureReader {
    private static final Logger LOG = Logger.getLogger(PictureReader.class);
    private static final int PAGE_BYTES = 1 << 20;
    private static final int PAGE_ROWS = 1_000;
    private static final String ROWS = "SELECT id, at, mark, host, base, data, bytes FROM observation ";

    private final Database database;
    /** The last complete picture of each host that was needed, as JSON, and its id. */
    private final Map<String, Map.Entry<Long, byte[]>> bases = new HashMap<>();

    private boolean isWhole = true;

    /**
     * What was recorded of a host.
     *
     * @param mark the clock that counts towards an action, in milliseconds
     * @param picture null if the host left the list, or if its picture is too large or damaged
     */
    public record Recorded(
            Instant at, long mark, String host, @Nullable Picture picture) {}

    private static final class Row {
        private final long id;
        private final long at;
        private final long mark;
        private final String host;
        /** 0 for a complete picture. */
        private final long base;

        private final byte @Nullable [] data;

        private Row(ResultSet row) throws SQLException {
            id = row.getLong("id");
            at = row.getLong("at");
            mark = row.getLong("mark");
            host = row.getString("host");
            base = row.getLong("base");
            data = row.getBytes("data");
        }
    }

    public PictureReader(Database database) {
        this.database = database;
    }

    /** Returns when the oldest picture was recorded; empty if there is none. */
    public Optional<Instant> begin() throws StoreException {
        return database.call(connection -> new Sql(connection).find("SELECT min(at) FROM observation"))
                .map(Instant::ofEpochMilli);
    }

    /** Returns the last mark that is written. */
    public long lastMark() throws StoreException {
        return database.call(PictureWriter::lastMark);
    }

    /** Returns the mark of the first picture after an instant; empty if there is none. */
    public Optional<Long> markAfter(Instant instant) throws StoreException {
        return database.call(connection -> new Sql(connection)
                .find("SELECT mark FROM observation WHERE at > ? ORDER BY at, id LIMIT 1", instant.toEpochMilli()));
    }

    /**
     * Reads the pictures of a period in the order of time, and before them the last earlier one of each host.
     *
     * @param reader returns false to end the reading
     * @return false if pictures are damaged, or were too large
     */
    public boolean read(Instant from, Instant to, Predicate<Recorded> reader) throws StoreException {
        var hosts = database.call(connection ->
                new Sql(connection).query("SELECT host FROM size WHERE kind = 'observation'", row -> row.getString(1)));
        List<Row> page = new ArrayList<>();
        for (var host : hosts) {
            page.addAll(database.call(connection -> new Sql(connection)
                    .query(
                            ROWS + "WHERE host = ? AND at < ? ORDER BY at DESC, id DESC LIMIT 1",
                            Row::new,
                            host,
                            from.toEpochMilli())));
        }
        page.sort(Comparator.comparingLong((Row row) -> row.at).thenComparingLong(row -> row.id));
        var at = from.toEpochMilli();
        var id = 0L;
        do {
            for (var row : page) {
                if (!reader.test(decode(row))) {
                    return isWhole;
                }
                at = Math.max(at, row.at);
                id = row.at < at ? 0 : row.id;
            }
            page = page(at, id, to.toEpochMilli());
        } while (!page.isEmpty());
        return isWhole;
    }

    private List<Row> page(long at, long id, long to) throws StoreException {
        return database.call(connection -> {
            var bytes = new AtomicLong();
            return new Sql(connection)
                    .query(
                            ROWS + "WHERE (at, id) > (?, ?) AND at <= ? ORDER BY at, id LIMIT " + PAGE_ROWS,
                            row -> bytes.getAndAdd(row.getLong("bytes")) < PAGE_BYTES ? new Row(row) : null,
                            at,
                            id,
                            to);
        });
    }

    private Recorded decode(Row row) throws StoreException {
        Picture picture = null;
        if (row.data != null) {
            try {
                var json = PictureCodec.inflate(row.data, row.base == 0 ? PictureCodec.NONE : base(row.host, row.base));
                picture = Picture.read(json);
                if (row.base == 0) {
                    bases.put(row.host, Map.entry(row.id, json));
                }
            } catch (DataFormatException e) {
                LOG.debugf(e, "The picture %d cannot be read", row.id);
                isWhole = false;
            }
        }
        return new Recorded(Instant.ofEpochMilli(row.at), row.mark, row.host, picture);
    }

    private byte[] base(String host, long id) throws StoreException, DataFormatException {
        var known = bases.get(host);
        if (known == null || known.getKey() != id) {
            var data = database.call(connection ->
                    new Sql(connection).query("SELECT data FROM observation WHERE id = ?", row -> row.getBytes(1), id));
            if (data.isEmpty()) {
                throw new DataFormatException("the picture that it needs is missing");
            }
            known = Map.entry(id, PictureCodec.inflate(data.getFirst(), PictureCodec.NONE));
            bases.put(host, known);
        }
        return known.getValue();
    }
}
