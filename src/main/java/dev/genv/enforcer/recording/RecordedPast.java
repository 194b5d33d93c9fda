package dev.genv.enforcer.recording;

import dev.genv.enforcer.enforcement.record.Event;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** The recorded past. It is read while the service continues to record; neither waits for the other. */
public interface RecordedPast {
    /** Returns when the oldest recorded cycle was; empty if none is recorded. */
    Optional<Instant> begin() throws IOException;

    /** Returns when the oldest recorded event was; empty if none is recorded. No later one is missing. */
    Optional<Instant> beginOfEvents() throws IOException;

    /**
     * Reads the recorded cycles, oldest first.
     *
     * @param from earlier cycles may be left out; some are passed on too, and also some that are later than {@code to}. While the
     *     clock was wrong, cycles of the period may be between them
     * @param isOver asked before each record, of which many may be no end of a cycle; true ends the reading
     * @param reader returns false to end the reading
     * @return false if records of the period are damaged or missing
     */
    boolean readCycles(Instant from, Instant to, BooleanSupplier isOver, Predicate<RecordedCycle> reader)
            throws IOException;

    /** Reads the events in the same way. */
    boolean readEvents(Instant from, Instant to, BooleanSupplier isOver, Predicate<Event> reader) throws IOException;
}
