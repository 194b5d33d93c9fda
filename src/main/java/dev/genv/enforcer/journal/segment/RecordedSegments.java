package dev.genv.enforcer.journal.segment;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.files.FileCalls;
import dev.genv.enforcer.journal.line.JournalLine;
import dev.genv.enforcer.journal.line.LineReader;
import dev.genv.enforcer.journal.line.RecordJson;
import java.io.IOException;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/** Reads segments while the service writes to them and deletes old ones. */
public final class RecordedSegments {
    private RecordedSegments() {}

    /**
     * Reads the valid lines, oldest first.
     *
     * @param from earlier segments are left out
     * @param reader returns false to end the reading
     */
    public static void read(JournalDirectory directory, Instant from, Predicate<JournalLine> reader)
            throws IOException {
        for (var segment : since(directory, from)) {
            if (!read(directory, segment, reader)) {
                return;
            }
        }
    }

    /** Returns the segments from the last one that begins before an instant. */
    private static List<Segment> since(JournalDirectory directory, Instant from) throws IOException {
        var all = directory.segments();
        var first = 0;
        for (var index = 0; index < all.size(); index++) {
            var begin = begin(directory, all.get(index));
            if (begin.isPresent() && !begin.get().isAfter(from)) {
                first = index;
            }
        }
        return all.subList(first, all.size());
    }

    /** Returns when a segment begins: the first time in it. Empty if it has none, or is deleted. */
    public static Optional<Instant> begin(JournalDirectory directory, Segment segment) throws IOException {
        var found = new ArrayList<Instant>();
        read(directory, segment, line -> {
            time(line).ifPresent(found::add);
            return found.isEmpty();
        });
        return found.stream().findFirst();
    }

    private static Optional<Instant> time(JournalLine line) {
        return RecordJson.read(line.json(), JsonNode.class).flatMap(record -> {
            try {
                return Optional.of(Instant.parse(record.path("at").asText()));
            } catch (DateTimeParseException e) {
                return Optional.empty();
            }
        });
    }

    /** Returns false if the reader ended the reading. A deleted segment is empty. */
    private static boolean read(JournalDirectory directory, Segment segment, Predicate<JournalLine> reader)
            throws IOException {
        int file;
        try {
            file = directory.openToRead(segment);
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return true;
            }
            throw e;
        }
        try {
            var lines = new LineReader(file);
            for (var line = lines.next(); line != null; line = lines.next()) {
                if (line.content().isPresent() && !reader.test(line.content().get())) {
                    return false;
                }
            }
            return true;
        } finally {
            FileCalls.close(file);
        }
    }
}
