package dev.genv.enforcer.api.stream;

import dev.genv.enforcer.api.security.ApiException;
import dev.genv.enforcer.enforcement.report.EventLog;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * The position of a reader in the events.
 *
 * @param stream identifies the numbering of the events
 * @param sequence the last event that the reader knows; 0 for none
 */
public record EventId(UUID stream, long sequence) {
    /** The request header with the last event that a client knows, and the response header with the latest event. */
    public static final String HEADER = "Last-Event-ID";

    private static final Pattern FORM = Pattern.compile("([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-([0-9]{1,18})");

    public static EventId latest(EventLog log) {
        return at(log, log.latest());
    }

    static EventId at(EventLog log, long sequence) {
        return new EventId(log.stream(sequence), sequence);
    }

    /** Parses an id in a header or a parameter of this name, or refuses it. */
    static EventId parse(String name, String text) {
        var match = FORM.matcher(text);
        if (!match.matches()) {
            throw new ApiException(
                    400,
                    "%s is \"%s\"; it can be the id of an event such as %s-42".formatted(name, text, new UUID(0, 0)));
        }
        return new EventId(UUID.fromString(match.group(1)), Long.parseLong(match.group(2)));
    }

    @Override
    public String toString() {
        return stream + "-" + sequence;
    }
}
