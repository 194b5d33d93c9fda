package dev.genv.enforcer.journal;

import dev.genv.enforcer.enforcement.event.Event;
import dev.genv.enforcer.format.json.GenvJson;
import dev.genv.enforcer.format.json.UnreadableException;
import dev.genv.enforcer.journal.line.JournalLine;
import dev.genv.enforcer.journal.line.LineTypes;
import dev.genv.enforcer.journal.segment.FileNames;
import dev.genv.enforcer.journal.segment.JournalDirectory;
import dev.genv.enforcer.journal.segment.RecordedSegments;
import dev.genv.enforcer.recording.FleetPlayer;
import dev.genv.enforcer.recording.RecordType;
import dev.genv.enforcer.recording.RecordedCycle;
import dev.genv.enforcer.recording.past.RecordedPast;
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

    @Override
    public void readCycles(Instant from, Instant to, BooleanSupplier isOver, Predicate<RecordedCycle> reader)
            throws IOException {
        var player = new FleetPlayer();
        try (var directory = JournalDirectory.openToRead(path, FileNames.RECORDING)) {
            RecordedSegments.read(
                    directory,
                    from,
                    to,
                    line -> !isOver.getAsBoolean()
                            && play(player, line).map(reader::test).orElse(true));
        }
    }

    /** Empty if the line does not end a cycle. The player notices a line that is missing. */
    private static Optional<RecordedCycle> play(FleetPlayer player, JournalLine line) {
        var type = RecordType.find(line.type());
        if (type.isEmpty()) {
            return Optional.empty();
        }
        try {
            return player.apply(type.get(), GenvJson.read(line.json()));
        } catch (UnreadableException e) {
            return Optional.empty();
        }
    }

    @Override
    public void readEvents(Instant from, Instant to, BooleanSupplier isOver, Predicate<Event> reader)
            throws IOException {
        var last = new AtomicLong();
        try (var directory = JournalDirectory.openToRead(path, FileNames.EVENTS)) {
            RecordedSegments.read(
                    directory,
                    from,
                    to,
                    line -> !isOver.getAsBoolean()
                            && LineTypes.event(line)
                                    .filter(event ->
                                            event.sequence() > last.getAndAccumulate(event.sequence(), Math::max))
                                    .map(reader::test)
                                    .orElse(true));
        }
    }
}
