package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.ActionIntents.ActionIntent;
import dev.genv.enforcer.enforcement.record.Journal;
import dev.genv.enforcer.enforcement.record.Journal.CycleCommit;
import dev.genv.enforcer.enforcement.record.Journal.Restored;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * The journal in a folder. A thread of its own does all input and output, because a disk may hang for ever. Those who must know that
 * something is on the disk wait for that thread, but not longer than a limit.
 */
public final class DiskJournal implements Journal {
    /** How long an action or the end of a cycle waits for the disk. Tests set more, because their disk may be slow. */
    static final Duration WRITE_LIMIT = Duration.ofSeconds(Long.getLong("journal.write-limit-seconds", 2));
    /** How long the start of the service waits until the journal is read. */
    static final Duration START_LIMIT = Duration.ofSeconds(30);

    private static final Logger LOG = Logger.getLogger(DiskJournal.class);
    /** While the disk hangs, more is dropped. The results of all actions that are under way fit in. */
    static final int MAX_WAITING = 2_000;

    private final JournalThread thread;
    private final BlockingQueue<JournalTask> tasks = new LinkedBlockingQueue<>(MAX_WAITING);
    private final Duration limit;
    private final boolean isOpen;
    private final Problem notRead;
    private @Nullable Restored restored;
    private volatile boolean hangs;
    private volatile boolean isClosed;

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
        this.limit = limit;
        thread = new JournalThread(config, tasks);
        notRead = new Problem(
                ProblemCode.JOURNAL_UNWRITABLE,
                "%s: it could not be read within %d s of the start"
                        .formatted(config.directory(), startLimit.toSeconds()));
        thread.start(startLimit);
        restored = thread.awaitReading(startLimit).orElse(null);
        isOpen = restored != null;
        if (!isOpen) {
            LOG.warnf("The journal in %s is not available: the service runs without it", config.directory());
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
        write(new JournalTask.Begin(intents, new CompletableFuture<>()));
    }

    @Override
    public void end(ActionIntent.Outcome outcome) {
        if (isOpen && !tasks.offer(new JournalTask.End(outcome))) {
            thread.recordLoss();
        }
    }

    @Override
    public boolean commit(CycleCommit cycle) {
        return write(new JournalTask.Commit(cycle, new CompletableFuture<>()));
    }

    @Override
    public List<Problem> problems() {
        if (!isOpen) {
            return List.of(thread.problem().orElse(notRead));
        }
        return Stream.of(thread.problem(), hanging(), thread.takeLoss())
                .flatMap(Optional::stream)
                .limit(1)
                .toList();
    }

    /** Writes what is left, as far as the disk allows it in time, and releases the journal. */
    @Override
    public void close() {
        if (isClosed || !isOpen) {
            return;
        }
        isClosed = true;
        var done = new CompletableFuture<Boolean>();
        if (tasks.offer(new JournalTask.Close(done)) && !hangs) {
            var _ = await(done, limit);
        }
    }

    private Optional<Problem> hanging() {
        return hangs ? Optional.of(thread.noAnswer(limit)) : Optional.empty();
    }

    /**
     * A disk that hangs delays one cycle. Later ones leave out the journal until the disk has answered, and do not wait. Returns
     * whether the task is done.
     */
    private boolean write(JournalTask.Awaited task) {
        if (isClosed || !isOpen) {
            return false;
        }
        if ((hangs && !thread.isIdle()) || !tasks.offer(task)) {
            thread.recordLoss();
            return false;
        }
        var result = await(task.done(), limit);
        hangs = result.isEmpty();
        return result.orElse(false);
    }

    /** Empty if there is no result in time. */
    private static Optional<Boolean> await(CompletableFuture<Boolean> done, Duration most) {
        var interrupted = false;
        var deadline = System.nanoTime() + most.toNanos();
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
}
