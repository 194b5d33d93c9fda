package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.query.PastReading.FleetMemory;
import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.recording.RecordedPast;
import io.vertx.ext.web.RoutingContext;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.Semaphore;

/** Lets one request at a time read the recorded past, because each occupies a processor and the disk. */
@Singleton
public class PastAccess {
    private static final int HEAP_SHARE = 8;

    private final Optional<RecordedPast> past;
    private final Semaphore permit = new Semaphore(1);

    PastAccess(Optional<RecordedPast> past) {
        this.past = past;
    }

    /** Begins to read; the caller closes the reading. Refuses if nothing is recorded, or another request reads. */
    public PastReading open(RoutingContext request, Period period) {
        var recorded = past.orElseThrow(
                () -> new ApiException(409, "the past is not recorded: set GENV_ENFORCER_DATA_DIR to a folder for it"));
        var memory = new FleetMemory(Runtime.getRuntime().maxMemory() / HEAP_SHARE);
        if (!permit.tryAcquire()) {
            throw new ApiException(503, "another request reads the recorded past; try again soon");
        }
        return new PastReading(recorded, period, () -> request.response().closed(), memory, permit::release);
    }
}
