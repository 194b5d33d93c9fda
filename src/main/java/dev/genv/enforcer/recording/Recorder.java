package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.CycleListener;
import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.enforcement.host.CycleClock;
import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.store.Database;
import java.time.Duration;

/** Stores for how long users hold and use devices. A cycle only hands over its observation: while the database hangs, the time adds up. */
public final class Recorder implements CycleListener, AutoCloseable {
    private final Database database;
    private final CycleClock clock;
    private final Ticker counted;
    private final UsageMeter usage = new UsageMeter();
    private long lastMark;

    /** Creates a recorder for cycles with this interval. */
    public Recorder(Database database, Duration interval, Ticker ticker) {
        this.database = database;
        clock = new CycleClock(ticker, interval);
        clock.continueFrom(0);
        counted = clock.ticker();
    }

    @Override
    public synchronized void accept(CycleReport report) {
        if (report.error() != null) {
            return;
        }
        clock.endCycle();
        var at = report.startedAt().toEpochMilli();
        var mark = Duration.ofNanos(counted.mark()).toMillis();
        usage.count(at, mark - lastMark, report.fleet().snapshots());
        lastMark = mark;
        database.submit(connection -> usage.writeDue(connection, at));
    }

    /** Has the database write what is left. */
    @Override
    public void close() {
        database.submit(connection -> {
            usage.write(connection);
            return true;
        });
    }
}
