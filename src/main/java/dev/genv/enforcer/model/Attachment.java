package dev.genv.enforcer.model;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.format.ResolverStyle;
import org.jspecify.annotations.Nullable;

/**
 * An environment's hold on a device.
 *
 * @param gpuMemory how much of the device it was promised; null for all of it
 * @param time when, in the machine's local time, as genv wrote it; null where nothing was written
 */
public record Attachment(
        String eid, @Nullable String gpuMemory, @Nullable String time) {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("dd/MM/uuuu HH:mm:ss").withResolverStyle(ResolverStyle.STRICT);

    /** The time; what cannot be read is older than everything. */
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
