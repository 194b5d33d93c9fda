package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.GpuQuery.GpuDevices;
import dev.genv.enforcer.gpu.GpuQuery.GpuLine;
import dev.genv.enforcer.gpu.GpuQuery.GpuLines;
import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.node.proc.ChildProcess;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Runs nvidia-smi. Its list of devices is cached, because each query needs a child process. One thread at a time uses it.
 */
public final class NvidiaSmi {
    /** The largest age of the device list: indices change when a GPU disappears or returns. */
    private static final Duration KEEP_DEVICES = Duration.ofSeconds(60);

    private final ChildProcess tool;
    private final StatusQuery status;
    private final Set<String> everListed = new HashSet<>();
    private @Nullable CachedDevices devices;

    public NvidiaSmi(String program, Duration timeout) {
        tool = new ChildProcess(program, timeout);
        status = new StatusQuery(program, timeout, System::nanoTime);
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

    /**
     * Queries the processes and, unless that fails, the devices. A failure, also a program that hangs, is part of the answer, not an
     * exception.
     *
     * @param withStatus whether to read the utilization, the temperature, the power and the memory of the GPUs too, by another child process
     * @throws InterruptedException if the service no longer waits for the answer
     */
    public GpuFacts read(boolean withStatus) throws InterruptedException {
        // First, so that no time passes between the list of the processes and the reading of their files.
        var measured = withStatus ? status.read() : GpuFacts.NOT_ASKED;
        var facts = list();
        return lines(facts.processes()).isEmpty() || lines(facts.devices()).isEmpty()
                ? facts
                : facts.withStatus(measured);
    }

    private GpuFacts list() throws InterruptedException {
        var known = devices;
        devices = null; // a failure may change the indices
        var processes = ask(tool, GpuQuery.PROCESSES);
        var lines = lines(processes);
        if (lines.isEmpty() || !(processes instanceof Reading.Value<ToolOutput>(var answer))) {
            return new GpuFacts(processes, GpuFacts.NOT_ASKED);
        }
        var listed = GpuLines.parse(lines.get());
        // Without a line, either nothing runs or there are no devices, which may have been different before.
        if (known != null && known.isFresh() && known.matches(listed.lines()) && !GpuQuery.foundNoDevices(answer)) {
            keep(known.output, known.devices, known.readAt, listed);
            return new GpuFacts(processes, known.output, false, GpuFacts.NOT_ASKED);
        }
        var output = ask(tool, GpuQuery.DEVICES);
        lines(output).map(GpuDevices::parse).ifPresent(now -> keep(output, now, System.nanoTime(), listed));
        return new GpuFacts(processes, output);
    }

    public void forgetDevices() {
        devices = null;
    }

    /** Returns the pids of the listed processes, each once, ascending. */
    public static List<Integer> listedPids(GpuFacts facts) {
        return facts.processes() instanceof Reading.Value<ToolOutput>(var output)
                ? GpuLines.parse(output.stdout().text().lines().toList()).lines().stream()
                        .map(GpuLine::pid)
                        .distinct()
                        .sorted()
                        .toList()
                : List.of();
    }

    /** After a problem the devices are queried again, to detect the end of the problem. */
    private void keep(Reading<ToolOutput> output, GpuDevices now, long readAt, GpuLines listed) {
        everListed.addAll(now.byUuid().keySet());
        if (listed.problems().isEmpty()
                && now.problems().isEmpty()
                && now.hasAll(listed.lines())
                && now.byUuid().keySet().containsAll(everListed)) {
            devices = new CachedDevices(output, now, readAt, listed.lines());
        }
    }

    /** Returns the lines of an answer; empty if it is none. */
    private static Optional<List<String>> lines(Reading<ToolOutput> reading) {
        try {
            return reading instanceof Reading.Value<ToolOutput>(var output)
                    ? Optional.of(GpuQuery.lines(output))
                    : Optional.empty();
        } catch (ToolException e) {
            return Optional.empty();
        }
    }

    /** Makes a query. A failure is part of the result. */
    private static Reading<ToolOutput> ask(ChildProcess tool, String query) throws InterruptedException {
        try {
            return Reading.of(tool.run(query, GpuQuery.FORMAT));
        } catch (ToolException e) {
            return Reading.failed(Failure.OTHER, String.valueOf(e.getMessage()));
        }
    }

    /**
     * The query for what is measured on the GPUs. Only metrics need it, so it has little time, and it is not made for a while after it
     * used all of that time.
     */
    static final class StatusQuery {
        /** Less than the time that an observation has besides the queries that the rules need. */
        private static final Duration LONGEST = Duration.ofSeconds(5);

        static final Duration PAUSE = Duration.ofMinutes(10);

        private final ChildProcess tool;
        private final Duration timeout;
        private final LongSupplier nanos;
        private @Nullable Reading<ToolOutput> hang;
        private long hungAt;

        /** @param nanos as {@link System#nanoTime} */
        StatusQuery(String program, Duration timeout, LongSupplier nanos) {
            this.timeout = timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST;
            tool = new ChildProcess(program, this.timeout);
            this.nanos = nanos;
        }

        /** Makes the query; during a pause it returns the failure that began the pause. */
        Reading<ToolOutput> read() throws InterruptedException {
            var start = nanos.getAsLong();
            if (hang != null && start - hungAt < PAUSE.toNanos()) {
                return hang;
            }
            var answer = ask(tool, GpuQuery.STATUS);
            hungAt = nanos.getAsLong();
            var hung = answer instanceof Reading.Failed<ToolOutput> && hungAt - start >= timeout.toNanos();
            hang = hung ? answer : null;
            return answer;
        }
    }
}
