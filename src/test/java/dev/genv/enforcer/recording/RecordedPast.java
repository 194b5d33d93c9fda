package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.CycleReport.CycleResult;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Plan;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.Sql;
import dev.genv.enforcer.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Cycles that a recorder records in a database. */
public final class RecordedPast implements AutoCloseable {
    public static final Duration INTERVAL = Duration.ofSeconds(10);
    public static final Instant BEGIN = Instant.parse("2026-11-22T00:00:00Z");
    final Database database;
    Recorder recorder;
    private final Instant begin;
    private final Ticker ticker;
    private Duration passed = Duration.ZERO;

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
        recorder.accept(new CycleReport(
                now(),
                Duration.ZERO,
                CycleResult.SUCCESS,
                new Fleet(List.of(hosts), true),
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
