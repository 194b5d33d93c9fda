package dev.genv.enforcer.policy.holding;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.device.Device.Attachment;
import java.time.LocalDateTime;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A device that a user holds through one or several environments; it counts once.
 *
 * @param shares the user's attachments of the device, with their environments
 * @param processes the processes of these environments on the device
 * @param use how the user's environments use the device
 * @param since a number that is larger if the user began to hold the device later; null if the first observation found it
 */
public record Holding(
        String host,
        int device,
        List<Share> shares,
        List<GpuProcess> processes,
        Use use,
        @Nullable Long since) {
    /**
     * Orders holdings by the harm of losing them. A device that no process of the user's own uid uses may be a forged entry in the user's
     * name; among equals, the latest comes first, and then one that is idle.
     */
    static final Comparator<Holding> LEAST_HARM = Comparator.comparing((Holding holding) -> holding.use == Use.PROVEN)
            .thenComparing(Holding::order, Comparator.reverseOrder())
            .thenComparing(Holding::use)
            .thenComparing(Holding::attachedAt, Comparator.reverseOrder())
            .thenComparing(Holding::host)
            .thenComparing(Comparator.comparingInt(Holding::device).reversed());

    /** The attachment of one environment. */
    public record Share(Environment environment, Attachment attachment) {}

    /** How a user's environments use a device. */
    enum Use {
        /** No process of any of the user's environments. */
        IDLE,
        /** A process that names one of the user's environments, or that one of them lists, or whose environment is unknown. */
        BUSY,
        /** A process that has the real uid of the user, and names an environment that holds the device, or whose environment is unknown. */
        PROVEN
    }

    /** Whether only the state, which every user can write, shows its age and its use. */
    boolean isUnproven() {
        return use == Use.BUSY && since == null;
    }

    /** An attachment that the first observation found is older than all others. */
    private long order() {
        return since == null ? Long.MIN_VALUE : since;
    }

    private LocalDateTime attachedAt() {
        return shares.stream()
                .map(share -> share.attachment().attachedAt())
                .max(Comparator.naturalOrder())
                .orElse(LocalDateTime.MIN);
    }
}
