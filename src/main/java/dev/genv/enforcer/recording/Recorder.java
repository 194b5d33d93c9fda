package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.store.Database;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Records what cycles observe: the pictures of the hosts, and what users hold and use. A cycle only hands over its observation. While the
 * database hangs, the next cycle replaces its pictures, and the usage adds up.
 */
public final class Recorder implements CycleListener, AutoCloseable {
    private final Database database;
    private final CycleClock clock;
    private final Ticker counted;
    private final PictureWriter pictures = new PictureWriter();
    private final UsageMeter usage = new UsageMeter();
    private long lastMark;
    private @Nullable Observed waiting;

    private record Observed(long at, long mark, List<Snapshot> hosts) {}

    /** Creates a recorder for cycles with this interval. */
    public Recorder(Database database, Duration interval, Ticker ticker) {
        this.database = database;
        clock = new CycleClock(ticker, interval);
        clock.continueFrom(0);
        counted = clock.ticker();
    }

    @Override
    public synchronized void record(CycleReport report) {
        if (report.error() != null) {
            return;
        }
        clock.endCycle();
        var at = report.startedAt().toEpochMilli();
        var mark = millis();
        usage.record(at, mark - lastMark, report.fleet().snapshots());
        lastMark = mark;
        waiting = new Observed(at, mark, report.fleet().snapshots());
        database.submit(this::write);
    }

    /** Returns the present mark of what is recorded, in milliseconds: the clock that counts towards an action. */
    public long mark() {
        return pictures.continued(millis());
    }

    private long millis() {
        return Duration.ofNanos(counted.mark()).toMillis();
    }

    private boolean write(Connection connection) throws SQLException {
        var next = take();
        if (next != null) {
            try {
                pictures.write(connection, next.at, next.mark, next.hosts);
                if (usage.writeDue(connection, next.at)) {
                    pictures.writeMark(connection, next.mark);
                }
            } catch (SQLException | RuntimeException | Error e) { // errors too, for example a lack of memory
                pictures.restart();
                throw e;
            }
        }
        return next != null;
    }

    private synchronized long lastMark() {
        return lastMark;
    }

    private synchronized @Nullable Observed take() {
        var next = waiting;
        waiting = null;
        return next;
    }

    /** Has the database write what is left. */
    @Override
    public void close() {
        var last = lastMark();
        database.submit(connection -> {
            usage.write(connection);
            pictures.writeMark(connection, last);
            return true;
        });
    }
}
