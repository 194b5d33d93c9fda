package dev.genv.enforcer.model.device;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.format.ResolverStyle;
import org.jspecify.annotations.Nullable;

/**
 * The attachment of a device to an environment.
 *
 * @param gpuMemory the requested memory on the device; null for the whole device
 * @param time when it was attached, in the machine's local time, as genv wrote it; null if absent
 */
public record Attachment(
        String eid, @Nullable String gpuMemory, @Nullable String time) {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("dd/MM/uuuu HH:mm:ss").withResolverStyle(ResolverStyle.STRICT);

    /** Returns the parsed time; an invalid time counts as older than every other one. */
    public LocalDateTime attachedAt() {
        if (time == null) {
            return LocalDateTime.MIN;
        }
        try {
            return LocalDateTime.parse(time, TIME);
        } catch (DateTimeParseException unreadable) {
            return LocalDateTime.MIN;
        }
    }
}
