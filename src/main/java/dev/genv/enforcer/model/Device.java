package dev.genv.enforcer.model;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.time.format.ResolverStyle;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A device, as {@code devices.json} describes it. It is attached to nothing if that does not describe it.
 *
 * @param totalMemory as genv wrote it; null if unknown
 * @param attachments sorted by environment; in a snapshot only those of active environments
 */
public record Device(int index, @Nullable String totalMemory, List<Attachment> attachments) {
    public Device {
        attachments = attachments.stream().distinct().sorted(Attachment.ORDER).toList();
    }

    /** Returns the device with the attachments of these environments only: attachments of inactive environments do not count. */
    public Device retainAttachments(Set<String> living) {
        return new Device(
                index,
                totalMemory,
                attachments.stream()
                        .filter(attachment -> living.contains(attachment.eid()))
                        .toList());
    }

    public boolean isAttachedTo(String eid) {
        // A binary search, because users choose the number of attachments.
        return Collections.binarySearch(
                        attachments, new Attachment(eid, null, null), Comparator.comparing(Attachment::eid))
                >= 0;
    }

    /**
     * The attachment of a device to an environment.
     *
     * @param gpuMemory the requested memory on the device; null for the whole device
     * @param time when it was attached, in the machine's local time, as genv wrote it; null if absent
     */
    public record Attachment(
            String eid,
            @Nullable String gpuMemory,
            @Nullable String time) {
        public static final Comparator<Attachment> ORDER = Comparator.comparing(Attachment::eid)
                .thenComparing(attachment -> Objects.requireNonNullElse(attachment.time, ""))
                .thenComparing(attachment -> Objects.requireNonNullElse(attachment.gpuMemory, ""));

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

    /**
     * What the driver measures on a device.
     *
     * @param temperature in degrees Celsius; null if unknown
     * @param utilization the share of the time in which a kernel ran, in percent; null if unknown, as with MIG
     * @param used the used memory of the whole device, which can be more than its processes use; null if unknown
     * @param total its memory; null if unknown
     * @param power in watts; null if unknown
     * @param model such as {@code NVIDIA A100-SXM4-80GB}; null if unknown
     */
    public record DeviceStatus(
            int index,
            @Nullable Integer temperature,
            @Nullable Integer utilization,
            @Nullable Memory used,
            @Nullable Memory total,
            @Nullable Integer power,
            @Nullable String model) {}

    /** A device of a host. */
    public record HostDevice(String host, int device) {}
}
