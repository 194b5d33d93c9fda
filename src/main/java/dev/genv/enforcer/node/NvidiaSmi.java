package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.observation.DeviceOrder;
import dev.genv.enforcer.observation.GpuDevices;
import dev.genv.enforcer.observation.GpuLine;
import dev.genv.enforcer.observation.GpuListing;
import dev.genv.enforcer.observation.GpuQuery;
import dev.genv.enforcer.observation.ToolException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The GPUs and their processes, as nvidia-smi lists them. */
final class NvidiaSmi {
    /** Indices move when a GPU goes or comes: the list of devices is never older than that. */
    private static final Duration KEEP_DEVICES = Duration.ofSeconds(60);

    private final String program;
    private final Duration timeout;
    private @Nullable Tool tool;
    private final DeviceOrder order = new DeviceOrder();
    private @Nullable Known devices;

    NvidiaSmi(String program, Duration timeout) {
        this.program = program;
        this.timeout = timeout;
    }

    /** The devices, kept for a while: asking for them costs a child of its own. */
    private record Known(GpuDevices devices, long readAt) {
        boolean isFresh() {
            return System.nanoTime() - readAt <= KEEP_DEVICES.toNanos();
        }
    }

    /**
     * Lists what runs.
     *
     * @throws ToolException where nvidia-smi cannot be found, trusted or understood, or takes too long
     */
    GpuListing list() throws ToolException, InterruptedException {
        try {
            var problems = new ArrayList<Problem>();
            var lines = GpuLine.parse(query(GpuQuery.PROCESSES), problems);
            var known = devices;
            if (known == null || !known.isFresh() || !known.devices().hasAll(lines)) {
                known = new Known(GpuDevices.parse(query(GpuQuery.DEVICES)), System.nanoTime());
                devices = known;
            }
            return GpuListing.of(lines, known.devices(), problems, order);
        } catch (ToolException e) {
            devices = null; // whatever went wrong may have moved the indices
            throw e;
        }
    }

    private List<String> query(String what) throws ToolException, InterruptedException {
        var found = tool;
        if (found == null) {
            found = new Tool(TrustedProgram.find(program), timeout);
            tool = found;
        }
        var output = found.run(what, GpuQuery.FORMAT);
        return GpuQuery.lines(output.exitCode(), output.stdout(), output.stderr());
    }
}
