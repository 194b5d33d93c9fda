package dev.genv.enforcer.node.linux;

import dev.genv.enforcer.files.Descriptor;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A child process that this thread itself starts and waits for. Java's own needs a helper program for every start and a thread for
 * every end, which together cost more than a small program.
 */
public final class SpawnedProcess extends Process {
    /** The time in which a killed process exits, unless the kernel keeps it. */
    private static final Duration KILL_TIMEOUT = Duration.ofSeconds(1);

    /** In this time an interrupt is noticed. */
    private static final Duration PAUSE = Duration.ofMillis(50);

    private final int pid;
    private final ProcessEnd end;
    private final InputStream stdout;
    private final InputStream stderr;

    private SpawnedProcess(int pid, ProcessEnd end, InputStream stdout, InputStream stderr) {
        this.pid = pid;
        this.end = end;
        this.stdout = stdout;
        this.stderr = stderr;
    }

    /** Whether this C library and kernel have what it needs: glibc 2.34 and Linux 5.3. */
    public static boolean isSupported() {
        try {
            new Descriptor(Libc.pidfdOpen((int) ProcessHandle.current().pid())).close();
            Class.forName(Spawn.class.getName());
            return true;
        } catch (IOException | ClassNotFoundException | LinkageError e) {
            return false;
        }
    }

    /** Starts the program of a builder with its environment in its directory, without input. */
    public static Process start(ProcessBuilder builder) throws IOException {
        var out = PipeInput.Ends.open();
        try {
            return start(builder, out);
        } catch (IOException e) {
            out.close();
            throw e;
        }
    }

    private static Process start(ProcessBuilder builder, PipeInput.Ends out) throws IOException {
        var err = PipeInput.Ends.open();
        try {
            var directory = builder.directory();
            var pid = Spawn.start(
                    builder.command(),
                    builder.environment(),
                    directory == null ? "." : directory.getPath(),
                    out.output().number(),
                    err.output().number());
            out.output().close();
            err.output().close();
            return new SpawnedProcess(pid, end(pid), out.input(), err.input());
        } catch (IOException e) {
            err.close();
            throw e;
        }
    }

    /** A process that nothing could wait for does not stay. */
    private static ProcessEnd end(int pid) throws IOException {
        try {
            return new ProcessEnd(pid);
        } catch (IOException e) {
            ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
            throw e;
        }
    }

    @Override
    public OutputStream getOutputStream() {
        return OutputStream.nullOutputStream();
    }

    @Override
    public InputStream getInputStream() {
        return stdout;
    }

    @Override
    public InputStream getErrorStream() {
        return stderr;
    }

    @Override
    public int waitFor() throws InterruptedException {
        while (!waitFor(PAUSE.toMillis(), TimeUnit.MILLISECONDS)) {
            // The next wait follows.
        }
        return exitValue();
    }

    @Override
    public boolean waitFor(long timeout, TimeUnit unit) throws InterruptedException {
        var start = System.nanoTime();
        while (true) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            var left = unit.toNanos(timeout) - (System.nanoTime() - start);
            var pause = Duration.ofNanos(Math.clamp(left, 0, PAUSE.toNanos()));
            if (end(pause).isPresent()) {
                return true;
            }
            if (left <= 0) {
                return false;
            }
        }
    }

    @Override
    public int exitValue() {
        return end(Duration.ZERO).orElseThrow(() -> new IllegalThreadStateException("it has not exited"));
    }

    @Override
    public boolean isAlive() {
        return end(Duration.ZERO).isEmpty();
    }

    @Override
    public long pid() {
        return pid;
    }

    @Override
    public Stream<ProcessHandle> descendants() {
        return ProcessHandle.of(pid).stream().flatMap(ProcessHandle::descendants);
    }

    @Override
    public void destroy() {
        destroyForcibly();
    }

    /** Kills it, and closes its output. */
    @Override
    public Process destroyForcibly() {
        try {
            stdout.close();
            stderr.close();
            if (isAlive()) {
                end.kill();
                end(KILL_TIMEOUT);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return this;
    }

    private OptionalInt end(Duration most) {
        try {
            return end.await(most);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
