package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.GpuFacts.ToolFacts;
import dev.genv.enforcer.facts.GpuFacts.ToolOutput;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.format.gpu.GpuDevices;
import dev.genv.enforcer.format.gpu.GpuLine;
import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.format.gpu.ToolException;
import dev.genv.enforcer.model.Found;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Runs nvidia-smi. Its list of devices is cached, because each query needs a child process. */
public final class NvidiaSmi implements GpuSource<ToolFacts> {
    /** The largest age of the device list: indices change when a GPU disappears or returns. */
    private static final Duration KEEP_DEVICES = Duration.ofSeconds(60);

    private final String program;
    private final Duration timeout;
    private final Set<String> everListed = new HashSet<>();
    private @Nullable ChildProcess tool;
    private @Nullable CachedDevices devices;

    public NvidiaSmi(String program, Duration timeout) {
        this.program = program;
        this.timeout = timeout;
    }

    /**
     * The cached answer to the query for the devices.
     *
     * @param lines the processes at the last use of the cache
     */
    private record CachedDevices(Reading<ToolOutput> output, GpuDevices devices, long readAt, List<GpuLine> lines) {
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

    /** Queries the processes and, unless that fails, the devices. */
    @Override
    public ToolFacts read() throws InterruptedException {
        var known = devices;
        devices = null; // a failure may change the indices
        var processes = run(GpuQuery.PROCESSES);
        var lines = ToolList.lines(processes);
        if (lines.isEmpty()) {
            return new ToolFacts(processes, Reading.failed(Failure.SKIPPED, ""));
        }
        var listed = GpuLine.parse(lines.get());
        // Without a line, either nothing runs or there are no devices, which may have been different before.
        if (known != null && known.isFresh() && known.matches(listed.value()) && !foundNoDevices(processes)) {
            keep(known.output, known.devices, known.readAt, listed);
            return new ToolFacts(processes, known.output, false);
        }
        var output = run(GpuQuery.DEVICES);
        ToolList.lines(output).map(GpuDevices::parse).ifPresent(now -> keep(output, now, System.nanoTime(), listed));
        return new ToolFacts(processes, output);
    }

    @Override
    public void forgetDevices() {
        devices = null;
    }

    /** Nothing is held: each query is a child process of its own. */
    @Override
    public void release() {}

    /** After a problem the devices are queried again, to detect the end of the problem. */
    private void keep(Reading<ToolOutput> output, GpuDevices now, long readAt, Found<List<GpuLine>> listed) {
        everListed.addAll(now.byUuid().keySet());
        if (listed.problems().isEmpty()
                && now.problems().isEmpty()
                && now.hasAll(listed.value())
                && now.byUuid().keySet().containsAll(everListed)) {
            devices = new CachedDevices(output, now, readAt, listed.value());
        }
    }

    private static boolean foundNoDevices(Reading<ToolOutput> reading) {
        return reading instanceof Reading.Value<ToolOutput>(var output)
                && GpuQuery.foundNoDevices(output.exitCode(), output.stdout().text());
    }

    private Reading<ToolOutput> run(String query) throws InterruptedException {
        try {
            var found = tool;
            if (found == null) {
                found = new ChildProcess(TrustedProgram.find(program), timeout);
                tool = found;
            }
            var output = found.run(query, GpuQuery.FORMAT);
            return Reading.of(new ToolOutput(output.exitCode(), bytes(output.stdout()), bytes(output.stderr())));
        } catch (ToolException e) {
            return Reading.failed(Failure.OTHER, String.valueOf(e.getMessage()));
        }
    }

    private static Bytes bytes(String text) {
        return Bytes.of(text.getBytes(StandardCharsets.UTF_8));
    }
}
