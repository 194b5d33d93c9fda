package dev.genv.enforcer.node;

import dev.genv.enforcer.observation.ToolException;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A program that is run as a child: no shell, a clean environment, a deadline, bounded output, one at a time. */
final class Tool {
    static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    private static final int LARGEST_OUTPUT = 16 << 20;
    private static final long PAUSE_MILLIS = 5;

    private final Path program;
    private final Duration timeout;
    private final Starter starter;
    private @Nullable Process unfinished;

    Tool(Path program, Duration timeout) {
        this(program, timeout, ProcessBuilder::start);
    }

    Tool(Path program, Duration timeout, Starter starter) {
        this.program = program;
        this.timeout = timeout;
        this.starter = starter;
    }

    /** How a child is started. */
    interface Starter {
        Process start(ProcessBuilder builder) throws IOException;
    }

    /** What a run came to. */
    record Output(int exitCode, String stdout, String stderr) {}

    /**
     * Runs it to its end.
     *
     * @throws ToolException where it cannot be run, takes too long or says too much
     */
    Output run(String... arguments) throws ToolException, InterruptedException {
        if (unfinished != null && unfinished.isAlive()) {
            throw new ToolException(program + " from an earlier look still hangs and cannot be ended");
        }
        var deadline = System.nanoTime() + timeout.toNanos();
        var process = start(arguments);
        unfinished = process;
        try {
            var stdout = new Collected(process.getInputStream());
            var stderr = new Collected(process.getErrorStream());
            // Looked at again and again and never waited on: a child of the tool's own may hold its output open for
            // ever, and whoever waited for the end of that would never come back.
            while (!process.waitFor(PAUSE_MILLIS, TimeUnit.MILLISECONDS)) {
                collect(stdout, stderr);
                if (System.nanoTime() - deadline > 0) {
                    throw new ToolException(program + " did not end within " + timeout.toMillis() + " ms");
                }
            }
            collect(stdout, stderr);
            return new Output(process.exitValue(), stdout.text(), stderr.text());
        } catch (IOException e) {
            throw new ToolException(program + " cannot be read: " + e.getMessage(), e);
        } finally {
            end(process);
        }
    }

    /** With what it has started itself, as long as that can be told: otherwise each look would leave something more. */
    private static void end(Process process) {
        if (process.isAlive()) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
        }
        process.destroyForcibly(); // closes its streams, too
    }

    private void collect(Collected stdout, Collected stderr) throws IOException, ToolException {
        if (!stdout.takeWhatIsThere() || !stderr.takeWhatIsThere()) {
            throw new ToolException(program + " says more than " + LARGEST_OUTPUT + " bytes");
        }
    }

    private Process start(String... arguments) throws ToolException {
        var command = new ArrayList<>(List.of(program.toString()));
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

    /** What a stream has given so far. */
    private static final class Collected {
        private final InputStream stream;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        private Collected(InputStream stream) {
            this.stream = stream;
        }

        /** Never blocks; false where it has become too much. */
        boolean takeWhatIsThere() throws IOException {
            var buffer = new byte[8192];
            while (stream.available() > 0) {
                var count = stream.read(buffer);
                if (bytes.size() + count > LARGEST_OUTPUT) {
                    return false;
                }
                bytes.write(buffer, 0, Math.max(0, count));
            }
            return true;
        }

        String text() {
            return bytes.toString(StandardCharsets.UTF_8);
        }
    }
}
