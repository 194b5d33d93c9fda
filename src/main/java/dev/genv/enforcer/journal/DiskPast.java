package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.genv.GenvJson;
import dev.genv.enforcer.genv.UnreadableException;
import dev.genv.enforcer.recording.FleetPlayer;
import dev.genv.enforcer.recording.RecordType;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.recording.RecordedPast;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;

/** Reads the folder of the journal, without its locks, so that it never waits for the service and the service never for it. */
public final class DiskPast implements RecordedPast {
    private final Path path;

    public DiskPast(Path path) {
        this.path = path;
    }

    @Override
    public Optional<Instant> begin() throws IOException {
        return begin(FileNames.RECORDING);
    }

    @Override
    public Optional<Instant> beginOfEvents() throws IOException {
        return begin(FileNames.EVENTS);
    }

    private Optional<Instant> begin(FileNames names) throws IOException {
        try (var directory = JournalDirectory.openToRead(path, names)) {
            for (var segment : directory.segments()) {
                var begin = RecordedSegments.begin(directory, segment);
                if (begin.isPresent()) {
                    return begin;
                }
            }
            return Optional.empty();
        }
    }

    /** What is missing between two records, if one of them or the time between is in a period. */
    private static final class Gaps {
        private final Instant from;
        private final Instant to;
        private Instant before = Instant.MIN;
        private boolean isOpen;
        private boolean isFound;

        Gaps(Instant from, Instant to) {
            this.from = from;
            this.to = to;
        }

        void open() {
            isOpen = true;
        }

        /** A service that is killed leaves a torn line, and the next one begins after it. */
        void forgive() {
            isOpen = false;
        }

        void reach(Instant at) {
            isFound |= isOpen && !at.isBefore(from) && !before.isAfter(to);
            isOpen = false;
            before = at;
        }

        boolean areNone() {
            reach(Instant.MAX);
            return !isFound;
        }
    }

    @Override
    public boolean readCycles(Instant from, Instant to, BooleanSupplier isOver, Predicate<RecordedCycle> reader)
            throws IOException {
        var player = new FleetPlayer();
        var gaps = new Gaps(from, to);
        try (var directory = JournalDirectory.openToRead(path, FileNames.RECORDING)) {
            RecordedSegments.read(directory, from, to, gaps::open, line -> {
                if (isOver.getAsBoolean()) {
                    return false;
                }
                var cycle = play(player, line, gaps);
                cycle.ifPresent(ended -> gaps.reach(ended.at()));
                return cycle.map(reader::test).orElse(true);
            });
        }
        return gaps.areNone();
    }

    /** Empty if the line does not end a cycle. */
    private static Optional<RecordedCycle> play(FleetPlayer player, JournalLine line, Gaps gaps) {
        var type = RecordType.find(line.type());
        if (type.isEmpty()) {
            return Optional.empty();
        }
        if (type.get() == RecordType.RECORDING_STARTED) {
            gaps.forgive();
        }
        try {
            return player.apply(type.get(), GenvJson.read(line.json()));
        } catch (UnreadableException e) {
            gaps.open();
            return Optional.empty();
        }
    }

    @Override
    public boolean readEvents(Instant from, Instant to, BooleanSupplier isOver, Predicate<Event> reader)
            throws IOException {
        var last = new AtomicLong();
        var gaps = new Gaps(from, to);
        try (var directory = JournalDirectory.openToRead(path, FileNames.EVENTS)) {
            // The numbers of the events show what is missing.
            RecordedSegments.read(
                    directory,
                    from,
                    to,
                    () -> {},
                    line -> !isOver.getAsBoolean()
                            && LineTypes.event(line)
                                    .filter(event -> isNext(event, last, gaps))
                                    .map(reader::test)
                                    .orElse(true));
        }
        return gaps.areNone();
    }

    /** Returns false for an event that was read before. */
    private static boolean isNext(Event event, AtomicLong last, Gaps gaps) {
        var before = last.getAndAccumulate(event.sequence(), Math::max);
        if (before != 0 && event.sequence() > before + 1) {
            gaps.open();
        }
        gaps.reach(event.at());
        return event.sequence() > before;
    }
}
