package dev.genv.enforcer.node;

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

    private final Path program;
    private final Duration timeout;
    private @Nullable Process unfinished;

    Tool(Path program, Duration timeout) {
        this.program = program;
        this.timeout = timeout;
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
            var stdout = Collected.of(process.getInputStream());
            var stderr = Collected.of(process.getErrorStream());
            var ended = process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)
                    && stdout.awaitEnd(deadline)
                    && stderr.awaitEnd(deadline);
            if (stdout.isTooMuch() || stderr.isTooMuch()) {
                throw new ToolException(program + " says more than " + LARGEST_OUTPUT + " bytes");
            }
            if (!ended) {
                throw new ToolException(program + " did not end within " + timeout.toMillis() + " ms");
            }
            return new Output(process.exitValue(), stdout.text(), stderr.text());
        } finally {
            process.destroyForcibly();
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
            return builder.start();
        } catch (IOException e) {
            throw new ToolException(program + " cannot be run: " + e.getMessage(), e);
        }
    }

    /** A stream, read by a thread of its own so that nobody waits for it longer than he wants to. */
    private static final class Collected implements Runnable {
        private final InputStream stream;
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final Thread reader;
        private volatile boolean tooMuch;

        private Collected(InputStream stream) {
            this.stream = stream;
            reader = Thread.ofVirtual().name("tool-output").unstarted(this);
        }

        static Collected of(InputStream stream) {
            var collected = new Collected(stream);
            collected.reader.start();
            return collected;
        }

        @Override
        public void run() {
            try (stream) {
                var buffer = new byte[8192];
                for (int count; (count = stream.read(buffer)) >= 0; ) {
                    if (bytes.size() + count > LARGEST_OUTPUT) {
                        tooMuch = true;
                        return;
                    }
                    bytes.write(buffer, 0, count);
                }
            } catch (IOException closed) {
                // Its process was ended; what was read until then is what there is.
            }
        }

        boolean awaitEnd(long deadline) throws InterruptedException {
            return reader.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
        }

        boolean isTooMuch() {
            return tooMuch;
        }

        String text() {
            return bytes.toString(StandardCharsets.UTF_8);
        }
    }
}
