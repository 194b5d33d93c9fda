package dev.genv.enforcer.journal;

import com.fasterxml.jackson.databind.JsonNode;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.store.RecordJson;
import java.io.IOException;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/** Reads segments while the service writes to them and deletes old ones. */
public final class RecordedSegments {
    private RecordedSegments() {}

    /**
     * Reads the valid lines, oldest first.
     *
     * @param from segments before it are left out
     * @param to segments after it are left out
     * @param missing called where a line is damaged, or a segment is missing. The torn last line of a segment is neither
     * @param reader returns false to end the reading
     */
    public static void read(
            JournalDirectory directory, Instant from, Instant to, Runnable missing, Predicate<JournalLine> reader)
            throws IOException {
        var next = OptionalLong.empty();
        for (var segment : between(directory, from, to)) {
            if (next.isPresent() && next.getAsLong() != segment.number()) {
                missing.run();
            }
            next = OptionalLong.of(segment.number() + 1);
            if (!read(directory, segment, missing, reader)) {
                return;
            }
        }
    }

    /**
     * Returns the segments from the one before the first that begins after the period has begun, to the one after the last that does
     * not begin after its end. So a segment that was begun while the clock was wrong hides no other one.
     */
    private static List<Segment> between(JournalDirectory directory, Instant from, Instant to) throws IOException {
        var all = segments(directory);
        var first = 0;
        while (first < all.size() && !isBegunAfter(from, all.get(first))) {
            first++;
        }
        var last = all.size() - 1;
        while (last >= first && isBegunAfter(to, all.get(last))) {
            last--;
        }
        return all.subList(Math.max(0, first - 1), Math.min(all.size(), last + 2));
    }

    private static boolean isBegunAfter(Instant at, Segment segment) {
        return segment.begun() != null && segment.begun().isAfter(at);
    }

    /** Returns the segments with their begins, oldest first. */
    static List<Segment> segments(JournalDirectory directory) throws IOException {
        var found = new ArrayList<Segment>();
        for (var segment : directory.segments()) {
            found.add(segment.begunAt(begin(directory, segment).orElse(null)));
        }
        return found;
    }

    /** Returns when a segment begins: the first time in it. Empty if it has none, or is deleted. */
    public static Optional<Instant> begin(JournalDirectory directory, Segment segment) throws IOException {
        var found = new ArrayList<Instant>();
        read(directory, segment, () -> {}, line -> {
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
    private static boolean read(
            JournalDirectory directory, Segment segment, Runnable missing, Predicate<JournalLine> reader)
            throws IOException {
        try (var lines = directory.openToRead(segment)) {
            for (var line = lines.next(); line != null; line = lines.next()) {
                if (line.content().isEmpty()) {
                    if (line.isComplete()) {
                        missing.run();
                    }
                } else if (!reader.test(line.content().get())) {
                    return false;
                }
            }
            return true;
        } catch (Errno e) {
            if (e.is(Errno.ENOENT)) {
                return true;
            }
            throw e;
        }
    }
}
