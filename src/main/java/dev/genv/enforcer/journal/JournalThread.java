package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Opens the journal, and writes the tasks. Several waiting tasks need the disk only once. If the start does not get what earlier runs
 * left in time, nothing is ever written, because the first cycle would replace it.
 */
final class JournalThread {
    private static final Logger LOG = Logger.getLogger(JournalThread.class);
    /** How long the start waits until it tries again to lock the journal. */
    private static final Duration RETRY = Duration.ofMillis(100);

    private final JournalConfig config;
    private final BlockingQueue<JournalTask> tasks;
    private final CompletableFuture<Optional<Restored>> read = new CompletableFuture<>();
    private final AtomicBoolean hasLost = new AtomicBoolean();
    private final AtomicLong losses = new AtomicLong();
    private volatile @Nullable Problem problem;
    private volatile boolean isIdle;
    private @Nullable JournalWriter writer;

    JournalThread(JournalConfig config, BlockingQueue<JournalTask> tasks) {
        this.config = config;
        this.tasks = tasks;
    }

    /** Starts the thread. For this time it waits for another service to release the journal. */
    void start(Duration lockLimit) {
        Thread.ofPlatform().name("journal").daemon().start(() -> run(lockLimit));
    }

    /** Returns what was read; empty if the journal was not read in time. */
    Optional<Restored> awaitReading(Duration limit) {
        try {
            return read.completeOnTimeout(Optional.empty(), limit.toNanos(), TimeUnit.NANOSECONDS)
                    .get();
        } catch (InterruptedException e) {
            read.complete(Optional.empty());
            Thread.currentThread().interrupt();
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // the thread of the journal completes it with a result
        }
    }

    Optional<Problem> problem() {
        return Optional.ofNullable(problem);
    }

    /** Records that a task was dropped: the state on the disk is incomplete until the next cycle writes all of it. */
    void recordLoss() {
        hasLost.set(true);
        losses.incrementAndGet();
    }

    /** Returns a problem if tasks were dropped since the last call. */
    Optional<Problem> takeLoss() {
        var count = losses.getAndSet(0);
        return count == 0
                ? Optional.empty()
                : Optional.of(new Problem(
                        ProblemCode.JOURNAL_UNWRITABLE,
                        "%s: %d tasks were left out, because the disk was too slow"
                                .formatted(config.directory(), count)));
    }

    Problem noAnswer(Duration limit) {
        return new Problem(
                ProblemCode.JOURNAL_UNWRITABLE,
                "%s: no answer within %d ms".formatted(config.directory(), limit.toMillis()));
    }

    private void run(Duration lockLimit) {
        try {
            var restored = openAtStart(System.nanoTime() + lockLimit.toNanos());
            if (!read.complete(restored) && writer != null) {
                close(writer); // too late
                return;
            }
            var isOpen = writer != null;
            while (isOpen) {
                isOpen = write(next());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** During an update the earlier service may still stop. */
    private Optional<Restored> openAtStart(long end) throws InterruptedException {
        var restored = open();
        while (isLocked() && System.nanoTime() - end < 0) {
            Thread.sleep(RETRY);
            restored = open();
        }
        return restored;
    }

    private boolean isLocked() {
        return problem()
                .filter(found -> found.code() == ProblemCode.JOURNAL_LOCKED)
                .isPresent();
    }

    /** Whether no task is being written. */
    boolean isIdle() {
        return isIdle;
    }

    private List<JournalTask> next() throws InterruptedException {
        var batch = new ArrayList<JournalTask>();
        isIdle = tasks.isEmpty();
        batch.add(tasks.take());
        isIdle = false;
        tasks.drainTo(batch);
        return batch;
    }

    /** Returns false after the last task. */
    private boolean write(List<JournalTask> batch) {
        var isWritten = false;
        try {
            if (writer == null && batch.stream().anyMatch(JournalTask.Commit.class::isInstance)) {
                open(); // it was displaced
            }
            isWritten = writer != null && write(batch, writer);
        } catch (RuntimeException | Error e) { // errors too, for example a lack of memory: the next cycle tries again
            LOG.error("The journal failed", e);
            fail(new IOException(e));
        } finally {
            for (var task : batch) {
                if (task instanceof JournalTask.Awaited awaited) {
                    awaited.done().complete(isWritten);
                }
            }
        }
        return batch.stream().noneMatch(JournalTask.Close.class::isInstance);
    }

    /** Returns whether the tasks are on the disk. */
    private boolean write(List<JournalTask> batch, JournalWriter open) {
        try {
            writeAll(batch, open);
            problem = null;
            if (batch.getLast() instanceof JournalTask.Close) {
                open.close();
            }
            return true;
        } catch (IOException e) {
            fail(e);
            return false;
        }
    }

    private void writeAll(List<JournalTask> batch, JournalWriter open) throws IOException {
        if (hasLost.getAndSet(false)) {
            open.recover(new IOException("tasks were dropped"));
        }
        for (var task : batch) {
            switch (task) {
                case JournalTask.Begin(var intents, var _) -> open.begin(intents);
                case JournalTask.End(var outcome) -> open.end(outcome);
                case JournalTask.Commit(var cycle, var _) -> open.commit(cycle);
                case JournalTask.Close _ -> {}
            }
        }
        open.flush();
    }

    private void fail(IOException why) {
        if (writer != null) {
            if (writer.isInPlace()) {
                writer.recover(why);
            } else {
                close(writer);
                writer = null;
            }
        }
        problem =
                JournalException.unwritable(config.directory().toString(), why).problem();
    }

    private static void close(JournalWriter open) {
        try {
            open.close();
        } catch (IOException e) {
            LOG.debug("The journal was not closed", e);
        }
    }

    /** Returns what was read; empty if that failed. */
    private Optional<Restored> open() {
        try {
            var directory = JournalDirectory.open(config.directory(), FileNames.JOURNAL);
            try {
                var content = open(directory);
                problem = null;
                return Optional.of(content);
            } catch (IOException | RuntimeException | Error e) {
                directory.close();
                throw e;
            }
        } catch (JournalException e) {
            problem = e.problem();
        } catch (IOException e) {
            problem = JournalException.unwritable(config.directory().toString(), e)
                    .problem();
        } catch (RuntimeException | Error e) { // errors too, for example a lack of memory: the next cycle tries again
            var found = JournalException.unwritable(config.directory().toString(), new IOException(e))
                    .problem();
            if (!found.equals(problem)) {
                LOG.error("The journal cannot be read", e);
            }
            problem = found;
        }
        return Optional.empty();
    }

    private Restored open(JournalDirectory directory) throws IOException {
        var events = JournalDirectory.open(config.directory(), FileNames.EVENTS);
        try {
            var content = new JournalReading(directory, config).read(events);
            writer = new JournalWriter(config, directory, events, content);
            return content.restored();
        } catch (IOException | RuntimeException | Error e) {
            events.close();
            throw e;
        }
    }
}
