package dev.genv.enforcer.remote.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A running program with its output, of which each byte is one char. Closing it kills it and its children. */
final class PythonProcess implements AutoCloseable {
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
