package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.store.Database;
import dev.genv.enforcer.store.StoreException;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Lets one request after the other read the recorded past, because each occupies a processor and the disk. */
@Singleton
public class PastAccess {
    /** How long a request waits for its turn: most of the time for its answer is left for reading. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(5);

    private final Database database;
    private final Duration longestWait;
    private final Semaphore turn = new Semaphore(1, true);

    @Inject
    PastAccess(Database database) {
        this(database, LONGEST_WAIT);
    }

    PastAccess(Database database, Duration longestWait) {
        this.database = database;
        this.longestWait = longestWait;
    }

    /** Reads from the database. */
    public interface Reader<T> {
        T read(Database database) throws StoreException;
    }

    /** Reads after the requests that came earlier. Refuses with status 503 if they take too long. */
    public <T> T read(Reader<T> reader) {
        if (!awaitTurn()) {
            throw new ApiException(503, "other requests read the recorded past; try again soon");
        }
        try {
            return reader.read(database);
        } catch (StoreException e) {
            throw new ApiException(503, "the recorded past cannot be read: " + e.getMessage());
        } finally {
            turn.release();
        }
    }

    private boolean awaitTurn() {
        try {
            return turn.tryAcquire(longestWait.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
