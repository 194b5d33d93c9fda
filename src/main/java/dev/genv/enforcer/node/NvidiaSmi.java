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
import java.util.Set;
import java.util.stream.Collectors;
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

    /**
     * The devices, kept for a while: asking for them costs a child of its own.
     *
     * @param lines what ran on them when they were last used
     */
    private record Known(GpuDevices devices, long readAt, List<GpuLine> lines) {
        boolean isFresh() {
            return System.nanoTime() - readAt <= KEEP_DEVICES.toNanos();
        }

        /** What no longer runs may have gone with its device. */
        boolean isOf(List<GpuLine> now) {
            return devices.hasAll(now) && keys(now).containsAll(keys(lines));
        }

        private static Set<List<Object>> keys(List<GpuLine> lines) {
            return lines.stream()
                    .map(line -> List.<Object>of(line.uuid(), line.pid()))
                    .collect(Collectors.toSet());
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
            var answer = run(GpuQuery.PROCESSES);
            var lines = GpuLine.parse(lines(answer), problems);
            var found = !GpuQuery.foundNoDevices(answer.exitCode(), answer.stdout());
            var known = devices;
            if (known == null || !found || !known.isFresh() || !known.isOf(lines)) {
                known = new Known(GpuDevices.parse(lines(run(GpuQuery.DEVICES))), System.nanoTime(), lines);
                known.devices.requireSame(found);
            }
            var listing = GpuListing.of(lines, known.devices, problems, order);
            // Where something is wrong it is asked anew, to see when it is over.
            devices = listing.problems().isEmpty() ? new Known(known.devices, known.readAt, lines) : null;
            return listing;
        } catch (ToolException e) {
            devices = null; // whatever went wrong may have moved the indices
            throw e;
        }
    }

    private Tool.Output run(String query) throws ToolException, InterruptedException {
        var found = tool;
        if (found == null) {
            found = new Tool(TrustedProgram.find(program), timeout);
            tool = found;
        }
        return found.run(query, GpuQuery.FORMAT);
    }

    private static List<String> lines(Tool.Output output) throws ToolException {
        return GpuQuery.lines(output.exitCode(), output.stdout(), output.stderr());
    }
}
