package dev.genv.enforcer.api.query;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.recording.RecordedPast;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
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
        isWhole &= read(() -> past.readCycles(period.from(), period.to(), this::isOver, cycle -> {
            memory.hold(cycle);
            reader.accept(cycle);
            return true;
        }));
    }

    /** Reads all events in the same way. */
    public void events(Consumer<Event> reader) {
        isWhole &= read(() -> past.readEvents(period.from(), period.to(), this::isOver, event -> {
            reader.accept(event);
            return true;
        }));
    }

    /** Returns since when observations are recorded; null if none are. */
    public @Nullable Instant recordedSince() {
        return read(past::begin).orElse(null);
    }

    /** Returns since when the events are complete; null if there are none. */
    public @Nullable Instant eventsRecordedSince() {
        return read(past::beginOfEvents).orElse(null);
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

    /** Something that reads files. */
    private interface Read<T> {
        T run() throws IOException;
    }

    private static <T> T read(Read<T> action) {
        try {
            return action.run();
        } catch (IOException e) {
            throw new ApiException(503, "the recorded past cannot be read: " + e.getMessage());
        }
    }

    @Override
    public void close() {
        release.run();
    }

    /** Limits the heap for one fleet while the past is read: what is in it may have been larger than now. */
    public static final class FleetMemory {
        /**
         * A process, a device of a process, an environment, a pid, an attachment or a range of subordinate uids: before and after a
         * change, and as JSON.
         */
        private static final int ENTRY = 3_000;

        /** The results for users, whose number is limited, and the longest record. */
        private static final int FIXED = 4 << 20;

        private final long most;
        private final Map<String, Long> entriesOf = new HashMap<>();
        private long entries;

        /** Creates a limit of this number of bytes. */
        FleetMemory(long most) {
            this.most = most;
        }

        /** Counts what a cycle needs more than those before. Refuses if that is too much. */
        void hold(RecordedCycle cycle) {
            for (var name : cycle.changed()) {
                var snapshot = cycle.snapshots().get(name);
                var count = snapshot == null ? 0 : entries(snapshot);
                entries += count - entriesOf.getOrDefault(name, 0L);
                entriesOf.put(name, count);
            }
            if (bytes() > most) {
                throw new ApiException(
                        413,
                        "the past contains a fleet that needs an estimated %d bytes of memory; choose a shorter period"
                                .formatted(bytes()));
            }
        }

        long bytes() {
            return FIXED + entries * ENTRY;
        }

        /** Returns the number of entries of a host. */
        public static long entries(Snapshot snapshot) {
            var entries =
                    (long) snapshot.processes().size() + snapshot.uidsOfPids().size();
            for (var process : snapshot.processes()) {
                entries += process.usage().size();
            }
            for (var holder : snapshot.unlisted().holders()) {
                entries += 1 + holder.process().usage().size() + holder.used().size();
            }
            entries += snapshot.subordinateUids().ranges().size();
            for (var environment : snapshot.environments()) {
                entries += 1 + environment.pids().size() / 16;
            }
            for (var device : snapshot.devices()) {
                entries += 1 + device.attachments().size();
            }
            return entries;
        }
    }
}
