package dev.genv.enforcer.config;

import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jboss.logging.Logger;

/**
 * An output whose writers never wait for its reader. Whole lines are queued up to a limit of bytes; lines above it are dropped and
 * counted. During the shutdown of the JVM, writers wait until their line is written, for a limited time in total.
 */
public final class ConsoleOutput extends OutputStream {
    private static final int CAPACITY = 256 * 1024;
    private static final Duration LONGEST_WAIT_AT_EXIT = Duration.ofSeconds(1);
    private static final AtomicLong DROPPED = new AtomicLong();

    private final OutputStream sink;
    private final int capacity;
    private final LongConsumer resumed;
    private final Deque<byte[]> queue = new ArrayDeque<>();
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private final Thread copier;
    private int queuedBytes;
    private long unreported;
    private long waitAtExit = -1;

    /**
     * Starts the thread that writes.
     *
     * @param resumed receives the number of dropped lines when the reader has caught up again
     */
    ConsoleOutput(OutputStream sink, String name, int capacity, LongConsumer resumed) {
        this.sink = sink;
        this.capacity = capacity;
        this.resumed = resumed;
        copier = Thread.ofPlatform().daemon().name(name).unstarted(this::copy);
        copier.start();
    }

    /** Replaces standard output and standard error of the service. The log uses one of them. */
    public static void install() {
        System.setOut(stream(FileDescriptor.out, "stdout", System.out));
        System.setErr(stream(FileDescriptor.err, "stderr", System.err));
    }

    /** Returns how many lines were dropped since the start. */
    static long dropped() {
        return DROPPED.get();
    }

    private static PrintStream stream(FileDescriptor descriptor, String name, PrintStream before) {
        var output = new ConsoleOutput(new FileOutputStream(descriptor), name, CAPACITY, ConsoleOutput::logDropped);
        Runtime.getRuntime()
                .addShutdownHook(new Thread(() -> output.waitForReader(LONGEST_WAIT_AT_EXIT), name + "-end"));
        return new PrintStream(output, false, before.charset());
    }

    private static void logDropped(long lines) {
        Logger.getLogger(ConsoleOutput.class)
                .warnf("%d lines of the log were dropped, because no process read the output in time", lines);
    }

    @Override
    public void write(int single) {
        write(new byte[] {(byte) single}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) {
        var end = lastNewline(bytes, offset, length) + 1;
        if (end > offset) {
            line.write(bytes, offset, end - offset);
            enqueue(line.toByteArray());
            line.reset();
        }
        line.write(bytes, end, offset + length - end);
        if (line.size() > capacity) {
            drop(line.toByteArray());
            line.reset();
        }
    }

    /** Does nothing, because each line is queued as soon as it is complete. */
    @Override
    public void flush() {}

    /** Lets writers wait for the reader from now on, all of them together for at most this time. */
    synchronized void waitForReader(Duration longest) {
        waitAtExit = longest.toNanos();
        if (line.size() > 0) {
            enqueue(line.toByteArray());
            line.reset();
        }
        awaitEmpty();
    }

    private static int lastNewline(byte[] bytes, int offset, int length) {
        for (var i = offset + length - 1; i >= offset; i--) {
            if (bytes[i] == '\n') {
                return i;
            }
        }
        return offset - 1;
    }

    private synchronized void enqueue(byte[] lines) {
        if (queuedBytes + lines.length > capacity) {
            drop(lines);
            return;
        }
        queue.addLast(lines);
        queuedBytes += lines.length;
        notifyAll();
        awaitEmpty();
    }

    private synchronized void drop(byte[] lines) {
        var count = 0L;
        for (var each : lines) {
            if (each == '\n') {
                count++;
            }
        }
        count = Math.max(1, count);
        unreported += count;
        DROPPED.addAndGet(count);
    }

    /** Runs before the JVM ends, and does not wait. */
    private synchronized void awaitEmpty() {
        while (queuedBytes > 0 && waitAtExit > 0 && !Thread.currentThread().equals(copier)) {
            var start = System.nanoTime();
            try {
                wait(Math.max(1, waitAtExit / 1_000_000));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            } finally {
                waitAtExit -= System.nanoTime() - start;
            }
        }
    }

    private void copy() {
        try {
            while (true) {
                var lines = next();
                var lost = recordWritten(lines, send(lines));
                if (lost > 0) {
                    resumed.accept(lost);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized byte[] next() throws InterruptedException {
        while (queue.isEmpty()) {
            wait();
        }
        return queue.removeFirst();
    }

    private boolean send(byte[] lines) {
        try {
            sink.write(lines);
            sink.flush();
            return true;
        } catch (IOException e) { // for example of a pipe without a reader
            drop(lines);
            return false;
        }
    }

    /**
     * Removes lines from the queue's count.
     *
     * @return the number of dropped lines since the last report; 0 while no process reads the output
     */
    private synchronized long recordWritten(byte[] lines, boolean written) {
        queuedBytes -= lines.length;
        notifyAll();
        if (!written || queuedBytes > 0 || waitAtExit >= 0) {
            return 0;
        }
        var lost = unreported;
        unreported = 0;
        return lost;
    }
}
