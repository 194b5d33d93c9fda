package dev.genv.enforcer.e2e.service;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Fifo;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The service while no process reads its log: a pipe holds 64 KiB, and then every write to it blocks. */
@Tag("long")
@Timeout(600)
class UnreadLogIT extends NodeSuite {
    private static final int STRAYS = 3;

    @Test
    void cyclesContinueAndNoLineIsLostAndTheServiceStops() throws Exception {
        var pipe = Fifo.at(directory.resolve("pipe"));
        try (var reader = new RandomAccessFile(pipe.toFile(), "rw")) {
            var service = node.launchWith("/bin/sh", "-c", "exec \"$@\" >%s".formatted(pipe), "sh")
                    .set("INTERVAL", "1s")
                    .set("NON_ENV_PROCESSES", "enforce")
                    .set("GRACE", "0s")
                    .start();
            awaitLine(reader, "Observing every");
            var pids = new int[STRAYS];
            try (var _ = new FullPipe(pipe)) {
                for (var i = 0; i < STRAYS; i++) {
                    pids[i] = terminateStray();
                }
            }
            for (var pid : pids) {
                awaitLine(reader, "pid=%d ".formatted(pid));
            }
            try (var _ = new FullPipe(pipe)) {
                terminateStray();
                terminateStray();

                service.stop();
            }
        }
    }

    private int terminateStray() throws IOException {
        try (var stray = Child.withEnvironment(Map.of())) {
            node.gpus.process(0, stray.pid(), "10");
            await().until(() -> !stray.isAlive());
            return stray.pid();
        }
    }

    private static void awaitLine(RandomAccessFile reader, String part) throws IOException {
        String line;
        do {
            line = reader.readLine();
        } while (line == null || !line.contains(part));
    }

    /** Fills the pipe and keeps it full. */
    private static final class FullPipe implements AutoCloseable {
        private final Process writer;

        FullPipe(Path pipe) throws IOException {
            writer = new ProcessBuilder("cat", "/dev/zero")
                    .redirectOutput(pipe.toFile())
                    .start();
        }

        @Override
        public void close() {
            writer.destroyForcibly().onExit().join();
        }
    }
}
