package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.Journal;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.linux.Errno;
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
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The journal in a folder. A thread of its own does all input and output, because a disk may hang for ever. Those who must
 * know that something is on the disk wait for that thread, but not longer than a limit. Several waiting tasks need the disk
 * only once. If the start does not get what earlier runs left in time, nothing is ever written, because the first cycle would
 * replace it.
 */
public final class DiskJournal implements Journal {
    /** How long an action or the end of a cycle waits for the disk. Tests set more, because their disk may be slow. */
    private static final Duration WRITE_LIMIT = Duration.ofSeconds(Long.getLong("journal.write-limit-seconds", 2));
    /** How long the start of the service waits until the journal is read. */
    private static final Duration START_LIMIT = Duration.ofSeconds(30);
    /** How long the start waits until it tries again to lock the journal. */
    private static final Duration RETRY = Duration.ofMillis(100);

    private static final Logger LOG = Logger.getLogger(DiskJournal.class);
    /** While the disk hangs, more is dropped. The results of all actions that are under way fit in. */
    private static final int MAX_WAITING = 2_000;

    private final JournalConfig config;
    private final BlockingQueue<Task> tasks = new LinkedBlockingQueue<>(MAX_WAITING);
    private final CompletableFuture<Optional<Restored>> read = new CompletableFuture<>();
    private final AtomicBoolean hasLost = new AtomicBoolean();
    private final AtomicLong losses = new AtomicLong();
    private final Duration limit;
    private final boolean isOpen;
    private final Problem notRead;
    private @Nullable Restored restored;
    private volatile @Nullable Problem problem;
    private volatile boolean hangs;
    private volatile boolean isClosed;
    /** Whether no task is being written. */
    private volatile boolean isIdle;
    /** Only the thread of the journal uses it. */
    private @Nullable JournalWriter writer;

    /** Something that the thread of the journal does. */
    private sealed interface Task {
        /** Gets the result: whether the task is on the disk. */
        CompletableFuture<Boolean> done();

        record Begin(List<ActionIntent> intents, CompletableFuture<Boolean> done) implements Task {}

        record End(ActionIntent.Outcome outcome, CompletableFuture<Boolean> done) implements Task {}

        record Commit(CycleCommit cycle, CompletableFuture<Boolean> done) implements Task {}

        /** The last task. */
        record Close(CompletableFuture<Boolean> done) implements Task {}
    }

    /** Opens the journal and reads it. If that fails, nothing is restored, and nothing is written until the next start. */
    public DiskJournal(JournalConfig config) {
        this(config, WRITE_LIMIT, START_LIMIT);
    }

    /**
     * The same with other limits.
     *
     * @param limit how long an action or the end of a cycle waits for the disk
     * @param startLimit how long this constructor waits until the journal is read
     */
    DiskJournal(JournalConfig config, Duration limit, Duration startLimit) {
        this.config = config;
        this.limit = limit;
        notRead = unwritable("it could not be read within %d s of the start".formatted(startLimit.toSeconds()));
        Thread.ofPlatform().name("journal").daemon().start(() -> run(startLimit));
        restored = awaitReading(startLimit).orElse(null);
        isOpen = restored != null;
        if (!isOpen) {
            LOG.warnf("The journal in %s is not available: the service runs without it", config.directory());
        }
    }

    /** Returns what was read; empty if the journal was not read in time. */
    private Optional<Restored> awaitReading(Duration most) {
        try {
            return read.completeOnTimeout(Optional.empty(), most.toNanos(), TimeUnit.NANOSECONDS)
                    .get();
        } catch (InterruptedException e) {
            read.complete(Optional.empty());
            Thread.currentThread().interrupt();
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e); // the thread of the journal completes it with a result
        }
    }

    @Override
    public boolean isEnabled() {
        return isOpen;
    }

    @Override
    public Optional<Restored> takeRestored() {
        var taken = Optional.ofNullable(restored);
        restored = null;
        return taken;
    }

    @Override
    public void begin(List<ActionIntent> intents) {
        write(new Task.Begin(intents, new CompletableFuture<>()));
    }

    @Override
    public void end(ActionIntent.Outcome outcome) {
        if (isOpen && !tasks.offer(new Task.End(outcome, new CompletableFuture<>()))) {
            recordLoss();
        }
    }

    @Override
    public boolean commit(CycleCommit cycle) {
        return write(new Task.Commit(cycle, new CompletableFuture<>()));
    }

    @Override
    public List<Problem> problems() {
        var count = losses.getAndSet(0);
        var present = problem;
        if (present != null) {
            return List.of(present);
        }
        if (!isOpen) {
            return List.of(notRead);
        }
        if (hangs) {
            return List.of(unwritable("no answer within %d ms".formatted(limit.toMillis())));
        }
        return count == 0
                ? List.of()
                : List.of(unwritable("%d tasks were left out, because the disk was too slow".formatted(count)));
    }

    /** Writes what is left, as far as the disk allows it in time, and releases the journal. */
    @Override
    public void close() {
        if (isClosed || !isOpen) {
            return;
        }
        isClosed = true;
        var done = new CompletableFuture<Boolean>();
        if (tasks.offer(new Task.Close(done)) && !hangs) {
            var _ = await(done);
        }
    }

    /**
     * A disk that hangs delays one cycle. Later ones leave out the journal until the disk has answered, and do not wait. Returns
     * whether the task is done.
     */
    private boolean write(Task task) {
        if (isClosed || !isOpen) {
            return false;
        }
        if ((hangs && !isIdle) || !tasks.offer(task)) {
            recordLoss();
            return false;
        }
        var result = await(task.done());
        hangs = result.isEmpty();
        return result.orElse(false);
    }

    /** Empty if there is no result in time. */
    private Optional<Boolean> await(CompletableFuture<Boolean> done) {
        var interrupted = false;
        var deadline = System.nanoTime() + limit.toNanos();
        try {
            while (true) {
                try {
                    return Optional.of(done.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS));
                } catch (TimeoutException e) {
                    return Optional.empty();
                } catch (ExecutionException e) {
                    throw new IllegalStateException(e); // the thread of the journal completes it with a result
                } catch (InterruptedException e) {
                    interrupted = true; // the wait is short
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A task was dropped: the state on the disk is incomplete until the next cycle writes all of it. */
    private void recordLoss() {
        hasLost.set(true);
        losses.incrementAndGet();
    }

    private Problem unwritable(String why) {
        return new Problem(ProblemCode.JOURNAL_UNWRITABLE, config.directory() + ": " + why);
    }

    private Problem unwritable(IOException why) {
        return unwritable(Errno.textOf(why));
    }

    private void run(Duration lockLimit) {
        try {
            var end = System.nanoTime() + lockLimit.toNanos();
            var found = open();
            // During an update the earlier service may still stop.
            while (problem != null && problem.code() == ProblemCode.JOURNAL_LOCKED && System.nanoTime() - end < 0) {
                Thread.sleep(RETRY);
                if (read.isDone()) {
                    return; // too late, and the journal is still locked
                }
                found = open();
            }
            if (!read.complete(found) && writer != null) {
                close(writer); // too late
                return;
            }
            var isWriting = writer != null;
            while (isWriting) {
                isWriting = write(next());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private List<Task> next() throws InterruptedException {
        var batch = new ArrayList<Task>();
        isIdle = tasks.isEmpty();
        batch.add(tasks.take());
        isIdle = false;
        tasks.drainTo(batch);
        return batch;
    }

    /** Returns false after the last task. */
    private boolean write(List<Task> batch) {
        var isWritten = false;
        try {
            if (writer == null) {
                batch.stream()
                        .filter(Task.Commit.class::isInstance)
                        .findFirst()
                        .ifPresent(commit -> reopen(((Task.Commit) commit).cycle()));
            }
            if (writer != null) {
                writeAll(batch, writer);
                isWritten = true;
            }
        } catch (IOException e) {
            fail(e);
        } catch (RuntimeException | Error e) { // errors too, for example a lack of memory: the next cycle tries again
            LOG.error("The journal failed", e);
            fail(new IOException(e));
        } finally {
            for (var task : batch) {
                task.done().complete(isWritten);
            }
        }
        return batch.stream().noneMatch(Task.Close.class::isInstance);
    }

    private void writeAll(List<Task> batch, JournalWriter open) throws IOException {
        if (hasLost.getAndSet(false)) {
            open.recover(new IOException("tasks were dropped"));
        }
        for (var task : batch) {
            switch (task) {
                case Task.Begin(var intents, var _) -> open.begin(intents);
                case Task.End(var outcome, var _) -> open.end(outcome);
                case Task.Commit(var cycle, var _) -> open.commit(cycle);
                case Task.Close _ -> {}
            }
        }
        open.flush();
        problem = null;
        if (batch.getLast() instanceof Task.Close) {
            open.close();
        }
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
        problem = unwritable(why);
    }

    /** Opens the folder after it was displaced. If it has the journal of another run with later events, that stays as it is. */
    private void reopen(CycleCommit cycle) {
        var found = open();
        var open = writer;
        if (open != null
                && found.stream()
                        .anyMatch(other -> other.lastSequence() > cycle.cycle().lastEvent())) {
            close(open);
            writer = null;
            problem = unwritable("the folder has another journal now, which the service uses after a restart");
        }
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
            problem = unwritable(e);
        } catch (RuntimeException | Error e) { // errors too, for example a lack of memory: the next cycle tries again
            var found = unwritable(new IOException(e));
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
            var content = new JournalReading(directory, events, config).read();
            writer = new JournalWriter(config, directory, events, content);
            return content.restored();
        } catch (IOException | RuntimeException | Error e) {
            events.close();
            throw e;
        }
    }
}
