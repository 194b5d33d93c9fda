package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.CycleReport;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.model.Snapshot;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Records each cycle on a thread of its own. A cycle only hands over its snapshots: while the disk hangs, the next cycle replaces them,
 * and later records contain what changed meanwhile.
 */
public final class FleetRecording implements AutoCloseable {
    private static final Logger LOG = Logger.getLogger(FleetRecording.class);
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(1);
    /** If more cycles wait for the disk, it counts as hanging. */
    private static final int MAX_WAITING = 3;

    private final FleetRecorder recorder;
    private final RecordWriter writer;
    private final Thread thread = Thread.ofPlatform().daemon().name("recording").unstarted(this::run);
    private @Nullable Observed waiting;
    private boolean isClosed;
    private volatile @Nullable Problem failure;

    /**
     * What cycles observed.
     *
     * @param cycles the number of cycles since the last one that was taken over, this one included
     */
    private record Observed(Instant at, List<Snapshot> snapshots, int cycles) {}

    public FleetRecording(FleetRecorder recorder, RecordWriter writer) {
        this.recorder = recorder;
        this.writer = writer;
        thread.start();
    }

    /** Hands over a cycle; one that failed observed nothing. It never blocks. */
    public synchronized void record(CycleReport report) {
        if (report.error() == null) {
            var before = waiting == null ? 0 : waiting.cycles;
            waiting = new Observed(report.startedAt(), report.fleet().snapshots(), before + 1);
            notifyAll();
        }
    }

    /** Returns what is wrong with the recording at present. */
    public synchronized List<Problem> problems() {
        if (waiting != null && waiting.cycles > MAX_WAITING) {
            return List.of(problem("%d cycles wait for the disk".formatted(waiting.cycles)));
        }
        return Optional.ofNullable(failure).stream().toList();
    }

    private static Problem problem(String why) {
        return new Problem(ProblemCode.RECORDING_UNWRITABLE, why);
    }

    /** Records what was handed over, as far as the disk allows it in time. */
    @Override
    public void close() {
        synchronized (this) {
            isClosed = true;
            notifyAll();
        }
        try {
            thread.join(CLOSE_LIMIT);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            for (var next = take(); next != null; next = take()) {
                write(next);
            }
            writer.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            LOG.debug("The recorded observations were not closed", e);
        }
    }

    private synchronized @Nullable Observed take() throws InterruptedException {
        while (waiting == null && !isClosed) {
            wait();
        }
        var next = waiting;
        waiting = null;
        return next;
    }

    private void write(Observed observed) {
        try {
            if (writer.isSegmentDue(observed.at)) {
                recorder.beginSegment();
            }
            var lines = recorder.record(observed.at, observed.snapshots, observed.cycles);
            if (!lines.isEmpty()) {
                writer.append(observed.at, lines);
                succeed();
            }
        } catch (IOException | RuntimeException | Error e) { // errors too, for example a lack of memory
            fail(e);
        }
    }

    private void succeed() {
        if (failure != null) {
            failure = null;
            LOG.info("Observations are recorded again");
        }
    }

    /** What was written before continues to be valid; the time until the next record counts as not observed. */
    private void fail(Throwable why) {
        recorder.restart();
        var text = why instanceof IOException ? String.valueOf(why.getMessage()) : why.toString();
        if (failure == null) {
            LOG.warnf("Observations cannot be recorded; each cycle tries again: %s", text);
        }
        failure = problem(text);
    }
}
