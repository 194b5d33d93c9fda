package dev.genv.enforcer.e2e;

import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Another program that holds flock(2) on a file, as genv does: util-linux's own flock. */
public final class LockHolder implements AutoCloseable {
    private static final Path PROGRAM = Path.of("/usr/bin/flock");
    private final Process process;

    private LockHolder(Process process) {
        this.process = process;
    }

    public static LockHolder hold(Path lock) throws IOException {
        Requirements.program(PROGRAM.toString(), "util-linux");
        // It prints a line when it has the lock, and holds the lock until its standard input is closed.
        var process =
                new ProcessBuilder(PROGRAM.toString(), "-x", lock.toString(), "sh", "-c", "echo held; cat").start();
        var said = new byte[4];
        process.getInputStream().readNBytes(said, 0, said.length);
        return new LockHolder(process);
    }

    public long pid() {
        return process.pid();
    }

    public boolean isHeld() {
        return process.isAlive();
    }

    /** Waits until a process has opened the lock file, which it does before it waits for the lock. */
    public static void awaitOpenedBy(long pid, Path lock) {
        await().until(() -> {
            try (var descriptors = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
                return descriptors.anyMatch(descriptor -> pointsTo(descriptor, lock));
            } catch (IOException e) {
                return false;
            }
        });
    }

    private static boolean pointsTo(Path descriptor, Path file) {
        try {
            return Files.readSymbolicLink(descriptor).equals(file);
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        release();
    }

    public void release() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            process.destroyForcibly();
        }
        await().until(() -> !process.isAlive());
    }
}
