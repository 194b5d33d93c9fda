package dev.genv.enforcer.node.gpu.nvml;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.node.gpu.GpuSource;
import dev.genv.enforcer.node.gpu.nvml.library.Activity;
import dev.genv.enforcer.node.gpu.nvml.library.LibraryFile;
import dev.genv.enforcer.node.gpu.nvml.library.NvmlException;
import java.io.Closeable;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Reads the GPUs through NVML in this process. NVML stays initialized until it is released, because its initialization can take half a
 * second. It is unloaded and loaded again after an error that an initialization can cure, after a call that did not return in time, and
 * after any failure; then the file can be that of another driver.
 */
public final class NvmlSource implements GpuSource<NvmlFacts>, Closeable {
    /** How long a lost GPU is reported before NVML is initialized again: on a large machine this costs half a second. */
    private static final Duration RETRY_LOST_GPUS = Duration.ofMinutes(1);

    private final LibraryFile library;
    private final Duration retryLostGpus;
    private final boolean readsStatus;
    private final Activity activity = new Activity();
    private final DriverThread thread;

    // The thread's own
    private final UtilizationTimes times = new UtilizationTimes();
    private @Nullable NvmlSession session;
    private long openedAt;
    private boolean isUsable;

    /**
     * Loads nothing yet.
     *
     * @param library an absolute path, or a name that is searched in the folders of LD_LIBRARY_PATH and in the usual folders
     * @param timeout for one reading
     */
    public NvmlSource(String library, Duration timeout) {
        this(file(library), timeout, RETRY_LOST_GPUS);
    }

    NvmlSource(LibraryFile library, Duration timeout, Duration retryLostGpus) {
        this(library, timeout, retryLostGpus, false);
    }

    private NvmlSource(LibraryFile library, Duration timeout, Duration retryLostGpus, boolean readsStatus) {
        this.library = library;
        this.retryLostGpus = retryLostGpus;
        this.readsStatus = readsStatus;
        thread = new DriverThread(timeout, activity);
    }

    /** Creates a source that also reads the temperature and the utilization of the GPUs. */
    public static NvmlSource withStatus(String library, Duration timeout) {
        return new NvmlSource(file(library), timeout, RETRY_LOST_GPUS, true);
    }

    private static LibraryFile file(String library) {
        return LibraryFile.of(library, System.getenv().getOrDefault("LD_LIBRARY_PATH", ""));
    }

    @Override
    public NvmlFacts read() throws InterruptedException {
        try {
            return thread.call(this::list);
        } catch (NvmlException e) {
            return e.facts();
        }
    }

    private NvmlFacts list() throws NvmlException {
        if (!isUsable || isWorthAnotherTry()) {
            shutDown();
        }
        isUsable = false; // unless this reading ends well
        var open = session;
        if (open == null) {
            activity.begin("the search of the library");
            open = NvmlSession.open(library.find(), activity, times, readsStatus);
            session = open;
            openedAt = System.nanoTime();
        }
        var listed = open.read();
        isUsable = !Thread.currentThread().isInterrupted();
        return listed;
    }

    private boolean isWorthAnotherTry() {
        return session != null && session.hasCurableErrors() && System.nanoTime() - openedAt >= retryLostGpus.toNanos();
    }

    private void shutDown() {
        var open = session;
        session = null;
        if (open != null) {
            open.close();
        }
    }

    /** Every reading asks for the devices. */
    @Override
    public void forgetDevices() {}

    @Override
    public void release() {
        try {
            thread.call(() -> {
                shutDown();
                return true;
            });
        } catch (NvmlException e) {
            // A call that hangs is left alone; if it returns, the next reading shuts NVML down.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Shuts NVML down for ever. */
    @Override
    public void close() {
        release();
        thread.close();
    }
}
