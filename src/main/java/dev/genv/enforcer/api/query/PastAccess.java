package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.StoreException;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;

/** Lets one request at a time read the recorded past, because each occupies a processor and the disk. */
@Singleton
public class PastAccess {
    /** The time limit. The connection is closed some time after it. */
    public static final Duration LONGEST = Duration.ofSeconds(45);

    private final Database database;
    private final Semaphore permit = new Semaphore(1);

    PastAccess(Database database) {
        this.database = database;
    }

    /** Reads from the database. */
    public interface Reader<T> {
        /** Returns what was read; it ends as soon as the time is over. */
        T read(Database database, BooleanSupplier isOver) throws StoreException;
    }

    /** Reads for a request, until the time limit, or until its client has disconnected. Refuses if another request reads. */
    public <T> T read(RoutingContext request, Reader<T> reader) {
        if (!permit.tryAcquire()) {
            throw new ApiException(503, "another request reads the recorded past; try again soon");
        }
        try {
            var end = System.nanoTime() + LONGEST.toNanos();
            return reader.read(database, () -> request.response().closed() || System.nanoTime() - end > 0);
        } catch (StoreException e) {
            throw new ApiException(503, "the recorded past cannot be read: " + e.getMessage());
        } finally {
            permit.release();
        }
    }
}
