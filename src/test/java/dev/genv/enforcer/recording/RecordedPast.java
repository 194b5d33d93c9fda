package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Snapshot.HostDetails;
import dev.genv.enforcer.model.SnapshotPart;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.recording.PictureReader.Recorded;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Cycles that a recorder records in a database. */
public final class RecordedPast implements AutoCloseable {
    public static final Duration INTERVAL = Duration.ofSeconds(10);
    public static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");
    /** Later than the start of the usual process. */
    private static final long TICKS = 1_000_000;

    final Database database;
    Recorder recorder;
    private final Instant begin;
    private final Ticker ticker;
    private Duration passed = Duration.ZERO;
    private @Nullable String machine = "machine boot";

    /** Records in memory. */
    RecordedPast() {
        this(new Database(new Database.Config(Optional.empty(), 64 << 20)), BEGIN);
    }

    /** Records from an instant on, at which the first cycle is. */
    public RecordedPast(Database database, Instant begin) {
        this.database = database;
        this.begin = begin;
        ticker = new Ticker(this::now, () -> passed.toNanos());
        recorder = new Recorder(database, INTERVAL, ticker);
    }

    Instant now() {
        return begin.plus(passed);
    }

    /** Records a cycle, and then waits for the next one. */
    public RecordedPast cycle(Snapshot... hosts) {
        var snapshots = Arrays.stream(hosts).map(this::observed).toList();
        recorder.record(new CycleReport(
                now(),
                Duration.ZERO,
                CycleResult.SUCCESS,
                new Fleet(snapshots, true),
                Plan.EMPTY,
                List.of(),
                List.of(),
                null));
        call(_ -> true);
        return waits(INTERVAL);
    }

    RecordedPast cycles(int count, Snapshot... hosts) {
        for (var cycle = 0; cycle < count; cycle++) {
            cycle(hosts);
        }
        return this;
    }

    RecordedPast waits(Duration time) {
        passed = passed.plus(time);
        return this;
    }

    RecordedPast restarts() {
        recorder.close();
        recorder = new Recorder(database, INTERVAL, ticker);
        return this;
    }

    private Snapshot observed(Snapshot snapshot) {
        return snapshot.missing().size() == SnapshotPart.values().length
                ? snapshot
                : snapshot.with(new HostDetails(
                        true,
                        null,
                        Duration.ZERO,
                        machine,
                        TICKS + passed.toMillis() / 10,
                        Set.of(),
                        List.of(),
                        null,
                        null,
                        null,
                        Accounts.NONE,
                        null,
                        snapshot.details().devices()));
    }

    /** Returns all recorded pictures. */
    List<Recorded> read() {
        return read(Instant.EPOCH);
    }

    List<Recorded> read(Instant from) {
        var all = new ArrayList<Recorded>();
        readAll(from, all);
        return all;
    }

    /** Returns whether none is damaged. */
    boolean readAll(Instant from, List<Recorded> all) {
        try {
            return new PictureReader(database).read(from, now(), all::add);
        } catch (StoreException e) {
            throw new AssertionError(e);
        }
    }

    <T> T call(Database.Work<T> work) {
        try {
            return database.call(work);
        } catch (StoreException e) {
            throw new AssertionError(e);
        }
    }

    void update(String sql, Object... values) {
        call(connection -> {
            new Sql(connection).update(sql, values);
            return true;
        });
    }

    long number(String sql, Object... values) {
        return call(connection -> new Sql(connection).find(sql, values)).orElse(-1L);
    }

    @Override
    public void close() {
        recorder.close();
        database.close();
    }
}
