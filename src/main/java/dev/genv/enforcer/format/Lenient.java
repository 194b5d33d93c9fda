package dev.genv.enforcer.format;

import dev.genv.enforcer.model.Problem;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the fields of one entry, each for itself: one that cannot be read is told, and everything else stands. Otherwise
 * whoever spoils a field of an entry decides whether it counts at all.
 *
 * @param entry how complaints name it
 */
record Lenient(String entry, List<Problem> problems) {

    /** What the field says; null where that cannot be read. */
    <T> @Nullable T read(Reading<T> reading) {
        try {
            return reading.read();
        } catch (UnreadableException e) {
            tell(String.valueOf(e.getMessage()));
            return null;
        }
    }

    void tell(String why) {
        Entries.report(problems, Entries.problem(entry, why));
    }

    interface Reading<T> {
        @Nullable
        T read() throws UnreadableException;
    }
}
