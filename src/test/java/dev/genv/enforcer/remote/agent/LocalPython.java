package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.remote.Connection;
import dev.genv.enforcer.remote.agent.AgentCommand.AgentProgram;
import dev.genv.enforcer.remote.agent.AgentMachine.AgentConfig;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Runs a program on this machine for each request, as a login of root would. */
public final class LocalPython implements Connection {
    /** For everything but genv's lock; what the tests wait for comes sooner on any machine. */
    public static final Duration TIMEOUT = Duration.ofMinutes(2);

    final List<ProgramRequest> requests = new ArrayList<>();
    private final List<String> prefix;
    private @Nullable PythonProcess kept;

    /**
     * Skips the test if Python is not installed.
     *
     * @param prefix a program that runs the command, with its arguments
     */
    LocalPython(String... prefix) {
        this.prefix = List.of(prefix);
        Requirements.program(AgentProgram.PYTHON, "python3");
        if (prefix.length > 0) {
            Requirements.program("/usr/bin/" + prefix[0], "util-linux");
        }
    }

    /**
     * Returns a machine with an agent in this machine's Python.
     *
     * @param run where it keeps its lease
     * @param prefix a program that runs the command, with its arguments
     */
    public static Machine machine(AgentConfig config, Path proc, Path etc, Path run, String... prefix) {
        var places = new AgentCommand.Places(proc.toString(), etc.toString(), run.toString());
        var command = new AgentCommand(config, places, "one", new SecureRandom());
        return new AgentMachine("gpu-1", new LocalPython(prefix), config, command, System::nanoTime);
    }

    @Override
    public void stop() {
        try {
            if (kept != null) {
                kept.close();
                kept = null;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        stop();
    }

    @Override
    public CommandResult request(ProgramRequest request) throws InterruptedException {
        requests.add(request);
        try {
            if (kept == null) {
                var command = new ArrayList<>(prefix);
                command.addAll(List.of("sh", "-c", "exec " + request.command()));
                kept = new PythonProcess(command);
                kept.write(request.program());
            }
            kept.answer(request.line(), request.mark(), request.timeout());
            var hasEnded = kept.end(request.timeout());
            var result = new CommandResult(
                    kept.printed(),
                    kept.errors(),
                    hasEnded ? kept.process.exitValue() : null,
                    hasEnded ? null : new UnreachableException(ProblemCode.TIMEOUT, "it took too long"));
            stop();
            return result;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A running program with its output, of which each byte is one char. Closing it kills it and its children. */
    static final class PythonProcess implements AutoCloseable {
        final Process process;
        private final Path output = Files.createTempFile("python", "output");
        private final Path errors = Files.createTempFile("python", "errors");

        PythonProcess(List<String> command) throws IOException {
            process = new ProcessBuilder(command)
                    .redirectOutput(output.toFile())
                    .redirectError(errors.toFile())
                    .start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        }

        void write(String text) throws IOException {
            process.getOutputStream().write(text.getBytes(UTF_8));
            process.getOutputStream().flush();
        }

        String printed() throws IOException {
            return Files.readString(output, ISO_8859_1);
        }

        String errors() throws IOException {
            return Files.readString(errors, ISO_8859_1);
        }

        /** Sends a request, and returns what is printed up to its answer; null if it ends or the time is over before. */
        @Nullable
        String answer(String line, String mark, Duration limit) throws IOException, InterruptedException {
            var answer = Pattern.compile(Pattern.quote(mark) + "\\{[^\n]*\n");
            var start = printed().length();
            write(line);
            var deadline = System.nanoTime() + limit.toNanos();
            for (var isRunning = true; isRunning; ) {
                isRunning = !process.waitFor(2, TimeUnit.MILLISECONDS) && System.nanoTime() - deadline < 0;
                var printed = printed().substring(start);
                if (answer.matcher(printed).find()) {
                    return printed;
                }
            }
            return null;
        }

        /** Ends its input, and returns whether it ends in time. */
        boolean end(Duration limit) throws IOException, InterruptedException {
            process.getOutputStream().close();
            return process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
        }

        @Override
        public void close() throws IOException {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().onExit().join();
            Files.delete(output);
            Files.delete(errors);
        }
    }
}
