package dev.genv.enforcer.policy.holding;

import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.device.Attachment;
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
 * @param appearance when the user began to hold the device; null if the first observation found it
 */
public record Holding(
        String host,
        int device,
        List<Share> shares,
        List<GpuProcess> processes,
        Use use,
        Appearances.@Nullable Appearance appearance) {
    /** Orders holdings by the harm of losing them; among equals, the latest comes first. */
    static final Comparator<Holding> LEAST_HARM = Comparator.comparing(Holding::harm)
            .thenComparing(Holding::appearedAt, Comparator.reverseOrder())
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

    /** The harm of losing a device, from the least to the most. */
    private enum Harm {
        /** A new attachment may be a forged entry in the user's name; then the user loses nothing. */
        NEW,
        IDLE,
        BUSY,
        /** A new attachment that the kernel proves to be the user's. */
        NEW_AND_PROVEN,
        PROVEN
    }

    /** Whether only the state, which every user can write, shows its age and its use. */
    boolean isUnproven() {
        return use == Use.BUSY && appearance == null;
    }

    private Harm harm() {
        if (appearance != null && appearance.recent()) {
            return use == Use.PROVEN ? Harm.NEW_AND_PROVEN : Harm.NEW;
        }
        return switch (use) {
            case IDLE -> Harm.IDLE;
            case BUSY -> Harm.BUSY;
            case PROVEN -> Harm.PROVEN;
        };
    }

    /** An attachment that the first observation found is older than all others. */
    private long appearedAt() {
        return appearance == null ? Long.MIN_VALUE : appearance.order();
    }

    private LocalDateTime attachedAt() {
        return shares.stream()
                .map(share -> share.attachment().attachedAt())
                .max(Comparator.naturalOrder())
                .orElse(LocalDateTime.MIN);
    }
}
