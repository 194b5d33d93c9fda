package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A device, as {@code devices.json} describes it.
 *
 * @param totalMemory as genv wrote it
 * @param attachments those of live environments, sorted
 */
public record Device(int index, @Nullable String totalMemory, List<Attachment> attachments) {
    private static final Comparator<Attachment> ORDER = Comparator.comparing(Attachment::eid)
            .thenComparing(attachment -> Objects.requireNonNullElse(attachment.time(), ""))
            .thenComparing(attachment -> Objects.requireNonNullElse(attachment.gpuMemory(), ""));

    public Device {
        attachments = attachments.stream().distinct().sorted(ORDER).toList();
    }

    public boolean isAttachedTo(String eid) {
        return attachments.stream().anyMatch(attachment -> attachment.eid().equals(eid));
    }
}
