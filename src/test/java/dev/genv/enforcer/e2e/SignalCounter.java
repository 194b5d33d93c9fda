package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A process that survives SIGTERM, and counts how often it gets one. */
public final class SignalCounter implements AutoCloseable {
    private static final String SCRIPT =
            "trap 'echo TERM >> \"$FILE\"' TERM; : > \"$FILE\"; sleep 7200 & while kill -0 $!; do wait $!; done";

    private final Child process;
    private final Path file;

    private SignalCounter(Child process, Path file) {
        this.process = process;
        this.file = file;
    }

    /** Starts a process that counts in this file, and waits until it counts. */
    public static SignalCounter start(Path file) throws IOException {
        var process = Child.running(
                List.of("/bin/sh", "-c", SCRIPT), Map.of("FILE", file.toString(), "PATH", "/usr/bin:/bin"));
        await().until(() -> Files.exists(file));
        return new SignalCounter(process, file);
    }

    public int pid() {
        return process.pid();
    }

    public int count() throws IOException {
        return Files.readAllLines(file).size();
    }

    @Override
    public void close() {
        process.closeWithDescendants();
    }
}
