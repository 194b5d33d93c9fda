package dev.genv.enforcer.api.past;

import dev.genv.enforcer.api.error.ApiException;
import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.recording.past.RecordedPast;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One request that reads the recorded past. It ends at its time limit, or when its client has disconnected. */
public final class PastReading implements AutoCloseable {
    /** The time limit. The connection of a plan is closed after 60 s, and that of a report after 65 s. */
    public static final Duration LONGEST = Duration.ofSeconds(45);

    private final RecordedPast past;
    private final Period period;
    private final BooleanSupplier isCancelled;
    private final FleetMemory memory;
    private final Runnable release;
    private final long begin = System.nanoTime();
    private boolean isInTime = true;
    private boolean isWhole = true;

    PastReading(RecordedPast past, Period period, BooleanSupplier isCancelled, FleetMemory memory, Runnable release) {
        this.past = past;
        this.period = period;
        this.isCancelled = isCancelled;
        this.memory = memory;
        this.release = release;
    }

    /** Reads all cycles of the period, and some before and after it. */
    public void cycles(Consumer<RecordedCycle> reader) {
        try {
            isWhole &= past.readCycles(period.from(), period.to(), this::isOver, cycle -> {
                memory.hold(cycle);
                reader.accept(cycle);
                return true;
            });
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    /** Reads all events in the same way. */
    public void events(Consumer<Event> reader) {
        try {
            isWhole &= past.readEvents(period.from(), period.to(), this::isOver, event -> {
                reader.accept(event);
                return true;
            });
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    /** Returns since when observations are recorded; null if none are. */
    public @Nullable Instant recordedSince() {
        try {
            return past.begin().orElse(null);
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    /** Returns since when the events are complete; null if there are none. */
    public @Nullable Instant eventsRecordedSince() {
        try {
            return past.beginOfEvents().orElse(null);
        } catch (IOException e) {
            throw unreadable(e);
        }
    }

    /** Whether everything was read; otherwise the time limit ended the reading, or records are damaged or missing. */
    public boolean isComplete() {
        return isInTime && isWhole;
    }

    private boolean isOver() {
        if (isCancelled.getAsBoolean() || System.nanoTime() - begin > LONGEST.toNanos()) {
            isInTime = false;
        }
        return !isInTime;
    }

    private static ApiException unreadable(IOException e) {
        return ApiException.serviceUnavailable("the recorded past cannot be read: " + e.getMessage());
    }

    @Override
    public void close() {
        release.run();
    }
}
