package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.format.gpu.GpuDevices;
import dev.genv.enforcer.format.gpu.GpuLine;
import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.observation.gpu.DeviceOrder;
import dev.genv.enforcer.observation.gpu.GpuListing;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Lists the GPUs and their processes with nvidia-smi. */
public final class NvidiaSmi {
    /** The largest age of the device list: indices change when a GPU disappears or returns. */
    private static final Duration KEEP_DEVICES = Duration.ofSeconds(60);

    private final String program;
    private final Duration timeout;
    private @Nullable ChildProcess tool;
    private final DeviceOrder order = new DeviceOrder();
    private @Nullable CachedDevices devices;

    public NvidiaSmi(String program, Duration timeout) {
        this.program = program;
        this.timeout = timeout;
    }

    /**
     * The cached devices, because each query needs a child process.
     *
     * @param lines the processes at the last use of the cache
     */
    private record CachedDevices(GpuDevices devices, long readAt, List<GpuLine> lines) {
        boolean isFresh() {
            return System.nanoTime() - readAt <= KEEP_DEVICES.toNanos();
        }

        /** A process that is no longer listed may have disappeared with its device. */
        boolean matches(List<GpuLine> now) {
            return devices.hasAll(now) && keys(now).containsAll(keys(lines));
        }

        private static Set<List<Object>> keys(List<GpuLine> lines) {
            return lines.stream()
                    .map(line -> List.<Object>of(line.uuid(), line.pid()))
                    .collect(Collectors.toSet());
        }
    }

    /**
     * Lists the devices and processes.
     *
     * @throws ToolException if nvidia-smi is missing or not trusted, gives invalid output, or exceeds the time limit
     */
    Found<GpuListing> list() throws ToolException, InterruptedException {
        try {
            var answer = run(GpuQuery.PROCESSES);
            var lines = GpuLine.parse(lines(answer));
            var found = !GpuQuery.foundNoDevices(answer.exitCode(), answer.stdout());
            var known = devices;
            if (known == null || !found || !known.isFresh() || !known.matches(lines.value())) {
                known = new CachedDevices(
                        GpuDevices.parse(lines(run(GpuQuery.DEVICES))), System.nanoTime(), lines.value());
                known.devices.requireSame(found);
            }
            var listing = GpuListing.of(lines, known.devices, order);
            // After a problem the devices are queried again, to detect the end of the problem.
            devices =
                    listing.problems().isEmpty() ? new CachedDevices(known.devices, known.readAt, lines.value()) : null;
            return listing;
        } catch (ToolException e) {
            devices = null; // the failure may have changed the indices
            throw e;
        }
    }

    private ChildProcess.Output run(String query) throws ToolException, InterruptedException {
        var found = tool;
        if (found == null) {
            found = new ChildProcess(TrustedProgram.find(program), timeout);
            tool = found;
        }
        return found.run(query, GpuQuery.FORMAT);
    }

    private static List<String> lines(ChildProcess.Output output) throws ToolException {
        return GpuQuery.lines(output.exitCode(), output.stdout(), output.stderr());
    }
}
