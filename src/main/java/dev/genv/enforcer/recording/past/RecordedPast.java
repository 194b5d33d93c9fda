package dev.genv.enforcer.recording.past;

import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.recording.RecordedCycle;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** The recorded past. It is read while the service continues to record, and reading delays no cycle. */
public interface RecordedPast {
    /** Returns when the oldest recorded cycle was; empty if none is recorded. */
    Optional<Instant> begin() throws IOException;

    /**
     * Reads the recorded cycles, oldest first.
     *
     * @param from earlier cycles may be left out; some may be passed on too
     * @param isOver asked before each record, of which many may be no end of a cycle; true ends the reading
     * @param reader returns false to end the reading
     */
    void readCycles(Instant from, BooleanSupplier isOver, Predicate<RecordedCycle> reader) throws IOException;

    /** Reads the events in the same way. */
    void readEvents(Instant from, BooleanSupplier isOver, Predicate<Event> reader) throws IOException;
}
