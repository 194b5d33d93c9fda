package dev.genv.enforcer.node.proc;

import dev.genv.enforcer.gpu.GpuQuery.ToolException;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.GpuFacts.ToolOutput;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.linux.FileTree;
import dev.genv.enforcer.linux.FileTree.TrustedOwners;
import dev.genv.enforcer.linux.FileTree.TrustedOwners.UntrustedException;
import dev.genv.enforcer.linux.SpawnedProcess;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs a program as a child process: no shell, a clean environment, a time limit, bounded output, one run at a time. */
public final class ChildProcess {
    static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    private static final int LARGEST_OUTPUT = 16 << 20;
    /** The environment of the program. */
    private static final Map<String, String> ENVIRONMENT = Map.of("PATH", PATH, "LC_ALL", "C", "GENV_BYPASS", "1");

    /**
     * The time between two looks at the output, which doubles while there is none. A pipe holds more than nvidia-smi prints, so its output
     * can wait. An interrupt ends the run after one pause.
     */
    private static final Duration PAUSE = Duration.ofMillis(20);

    private static final Duration LONGEST_PAUSE = Duration.ofMillis(160);

    /** The time in which a killed process exits, unless the kernel keeps it. */
    private static final Duration KILL_TIMEOUT = Duration.ofSeconds(1);

    private static final FileTree OWN_FILES = new FileTree(Path.of("/"));

    private final String name;
    private final Duration timeout;
    private final Starter starter;
    /** The program, which is found at its first use. */
    private @Nullable Path program;

    private @Nullable Process unfinished;

    public ChildProcess(String program, Duration timeout) {
        this(program, timeout, Starter.PREFERRED);
    }

    ChildProcess(String program, Duration timeout, Starter starter) {
        name = program;
        this.timeout = timeout;
        this.starter = starter;
    }

    String name() {
        return name;
    }

    /**
     * A way to start a program. Java's runs a script without {@code #!} by a shell, passes arguments in the encoding of the locale, and
     * starts no session, so a process whose parent has exited is not killed.
     */
    interface Starter {
        Starter POSIX_SPAWN = command -> SpawnedProcess.start(
                command, ENVIRONMENT.entrySet().stream().map(Object::toString).toList());

        Starter PROCESS_BUILDER = command -> {
            var builder = new ProcessBuilder(command).directory(new File("/"));
            builder.redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
            builder.environment().clear();
            builder.environment().putAll(ENVIRONMENT);
            return builder.start();
        };

        Starter PREFERRED = SpawnedProcess.isSupported() ? POSIX_SPAWN : PROCESS_BUILDER;

        Process start(List<String> command) throws IOException;
    }

    /**
     * Runs the program until it exits.
     *
     * @throws ToolException if it cannot be run, exceeds the time limit, or prints too much
     */
    public ToolOutput run(String... arguments) throws ToolException, InterruptedException {
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
            var pause = PAUSE.toNanos();
            while (!process.waitFor(pause, TimeUnit.NANOSECONDS)) {
                var longest = collect(stdout, stderr) ? PAUSE.toNanos() : Math.min(2 * pause, LONGEST_PAUSE.toNanos());
                pause = Math.min(longest, deadline - System.nanoTime());
                if (pause <= 0) {
                    throw new ToolException(program + " did not exit within " + timeout.toMillis() + " ms");
                }
            }
            collect(stdout, stderr);
            return new ToolOutput(process.exitValue(), stdout.read(), stderr.read());
        } catch (IOException | IllegalThreadStateException e) {
            throw new ToolException(program + " cannot be read: " + e.getMessage(), e);
        } finally {
            end(process);
        }
    }

    /** Terminates its own children too, as far as they are known, so that they do not accumulate. */
    private static void end(Process process) {
        var isAlive = process.isAlive();
        try {
            if (isAlive) {
                process.descendants().forEach(ProcessHandle::destroyForcibly); // fails if /proc cannot be opened
            }
        } finally {
            process.destroyForcibly(); // closes its streams too
        }
        try {
            if (isAlive) {
                process.waitFor(KILL_TIMEOUT); // otherwise the next run would take it for one that hangs
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether there was output. */
    private boolean collect(Collected stdout, Collected stderr) throws IOException, ToolException {
        var before = stdout.bytes.size() + stderr.bytes.size();
        if (!stdout.takeWhatIsThere() || !stderr.takeWhatIsThere()) {
            throw new ToolException(program + " printed more than " + LARGEST_OUTPUT + " bytes");
        }
        return stdout.bytes.size() + stderr.bytes.size() > before;
    }

    private Process start(Path found, String... arguments) throws ToolException {
        var command = new ArrayList<>(List.of(found.toString()));
        command.addAll(List.of(arguments));
        try {
            return starter.start(command);
        } catch (IOException e) {
            throw new ToolException(program + " cannot be run: " + Errno.textOf(e), e);
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
