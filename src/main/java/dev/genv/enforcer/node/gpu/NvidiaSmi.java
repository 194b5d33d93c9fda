package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.gpu.GpuQuery.GpuDevices;
import dev.genv.enforcer.gpu.GpuQuery.GpuLine;
import dev.genv.enforcer.gpu.GpuQuery.GpuLines;
import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.Reading.Failure;
import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.FileTree.TrustedOwners;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
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

    /** Runs a program as a child process: no shell, a clean environment, a time limit, bounded output, one run at a time. */
    static final class ChildProcess {
        static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        private static final int LARGEST_OUTPUT = 16 << 20;
        /** A pipe holds more than nvidia-smi prints, so its output can wait. */
        private static final long PAUSE_MILLIS = 20;

        /** The time in which a killed process exits, unless the kernel keeps it. */
        private static final Duration KILL_TIMEOUT = Duration.ofSeconds(1);

        private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

        private final String name;
        private final Duration timeout;
        private final Starter starter;
        /** The program, which is found at its first use. */
        private @Nullable Path program;

        private @Nullable Process unfinished;

        ChildProcess(String program, Duration timeout) {
            this(program, timeout, ProcessBuilder::start);
        }

        ChildProcess(String program, Duration timeout, Starter starter) {
            name = program;
            this.timeout = timeout;
            this.starter = starter;
        }

        interface Starter {
            Process start(ProcessBuilder builder) throws IOException;
        }

        /**
         * Runs the program until it exits.
         *
         * @throws ToolException if it cannot be run, exceeds the time limit, or prints too much
         */
        ToolOutput run(String... arguments) throws ToolException, InterruptedException {
            var found = program == null ? find(name) : program;
            program = found;
            if (unfinished != null && unfinished.isAlive()) {
                throw new ToolException(program + " of an earlier observation still hangs and cannot be terminated");
            }
            var deadline = System.nanoTime() + timeout.toNanos();
            var process = start(found, arguments);
            unfinished = process;
            try {
                var stdout = new Collected(process.getInputStream());
                var stderr = new Collected(process.getErrorStream());
                // The output is polled: a child of the tool may keep it open forever, and a blocking read would never
                // return.
                while (!process.waitFor(PAUSE_MILLIS, TimeUnit.MILLISECONDS)) {
                    collect(stdout, stderr);
                    if (System.nanoTime() - deadline > 0) {
                        throw new ToolException(program + " did not exit within " + timeout.toMillis() + " ms");
                    }
                }
                collect(stdout, stderr);
                return new ToolOutput(process.exitValue(), stdout.read(), stderr.read());
            } catch (IOException e) {
                throw new ToolException(program + " cannot be read: " + e.getMessage(), e);
            } finally {
                end(process);
            }
        }

        /** Terminates its own children too, as far as they are known, so that they do not accumulate. */
        private static void end(Process process) {
            var isAlive = process.isAlive();
            if (isAlive) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
            }
            process.destroyForcibly(); // closes its streams too
            try {
                if (isAlive) {
                    process.waitFor(KILL_TIMEOUT); // otherwise the next run would take it for one that hangs
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void collect(Collected stdout, Collected stderr) throws IOException, ToolException {
            if (!stdout.takeWhatIsThere() || !stderr.takeWhatIsThere()) {
                throw new ToolException(program + " printed more than " + LARGEST_OUTPUT + " bytes");
            }
        }

        private Process start(Path found, String... arguments) throws ToolException {
            var command = new ArrayList<>(List.of(found.toString()));
            command.addAll(List.of(arguments));
            var builder = new ProcessBuilder(command).directory(new File("/"));
            builder.redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
            builder.environment().clear();
            builder.environment().put("PATH", PATH);
            builder.environment().put("LC_ALL", "C");
            builder.environment().put("GENV_BYPASS", "1");
            try {
                return starter.start(builder);
            } catch (IOException e) {
                throw new ToolException(program + " cannot be run: " + e.getMessage(), e);
            }
        }

        private record Collected(InputStream stream, ByteArrayOutputStream bytes) {
            Collected(InputStream stream) {
                this(stream, new ByteArrayOutputStream());
            }

            /** Reads without blocking; returns false above the size limit. */
            boolean takeWhatIsThere() throws IOException {
                for (var there = stream.available(); there > 0; there = stream.available()) {
                    if (bytes.size() + there > LARGEST_OUTPUT) {
                        return false;
                    }
                    bytes.write(stream.readNBytes(there));
                }
                return true;
            }

            Bytes read() {
                return Bytes.of(bytes.toByteArray());
            }
        }

        /**
         * Finds a program by its path, or by its name in the standard directories. Only root or the service's own user can have installed it.
         *
         * @throws ToolException if there is none, or if another user could replace it
         */
        static Path find(String program) throws ToolException {
            if (program.contains("/")) {
                return requireTrusted(Path.of(program).toAbsolutePath());
            }
            for (var folder : PATH.split(":", -1)) {
                var candidate = Path.of(folder, program);
                if (Files.isExecutable(candidate)) {
                    return requireTrusted(candidate);
                }
            }
            throw new ToolException(program + " is not in any of " + PATH);
        }

        private static Path requireTrusted(Path program) throws ToolException {
            try {
                if (!Files.isRegularFile(program) || !Files.isExecutable(program)) {
                    throw new ToolException(program + " is not a program");
                }
                OWN_FILES.follow(program, TrustedOwners.ofThisService());
                return program;
            } catch (UntrustedException e) {
                throw new ToolException("%s is not used: %s".formatted(program, e.getMessage()), e);
            } catch (IOException e) {
                throw new ToolException(program + " cannot be examined: " + e.getMessage(), e);
            }
        }
    }
}
