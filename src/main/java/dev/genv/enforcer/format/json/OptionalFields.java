package dev.genv.enforcer.format.json;

import dev.genv.enforcer.model.problem.Problem;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the fields of one entry separately: an invalid field is reported, and the others count. Otherwise a user could drop an
 * entry by making one field invalid.
 *
 * @param entry the name of the entry in problems
 */
public record OptionalFields(String entry, List<Problem> problems) {

    /** Returns the value of the field; null if it is invalid. */
    public <T> @Nullable T read(Reading<T> reading) {
        try {
            return reading.read();
        } catch (UnreadableException e) {
            report(String.valueOf(e.getMessage()));
            return null;
        }
    }

    public void report(String why) {
        Entries.report(problems, Entries.problem(entry, why));
    }

    public interface Reading<T> {
        @Nullable
        T read() throws UnreadableException;
    }
}
