package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Appearances;
import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import java.time.LocalDateTime;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A device that a user holds, through one environment or several: it counts once.
 *
 * @param shares the user's attachments to it, with their environments
 * @param processes the processes of those environments on it
 * @param use whether the user's environments are at work there
 * @param appearance when the service saw the user come to hold it; null if the first observation found it
 */
record Holding(
        String host,
        int device,
        List<Share> shares,
        List<GpuProcess> processes,
        Use use,
        Appearances.@Nullable Appearance appearance) {
    /** Which one to give up first. Among equals it is the one that came last. */
    static final Comparator<Holding> LEAST_HARM = Comparator.comparing(Holding::harm)
            .thenComparing(Holding::appearedAt, Comparator.reverseOrder())
            .thenComparing(Holding::attachedAt, Comparator.reverseOrder())
            .thenComparing(Holding::host)
            .thenComparing(Comparator.comparingInt(Holding::device).reversed());

    /** One environment's part in it. */
    record Share(Environment environment, Attachment attachment) {}

    /** What runs on a device of a user. */
    enum Use {
        /** No process of any of the user's environments. */
        IDLE,
        /** A process that names one of the user's environments, or that one of them lists. */
        BUSY,
        /** A process that has a uid of the user and names an environment that holds the device. */
        PROVEN
    }

    /** What it does to a user to lose it, from the least to the most. */
    private enum Harm {
        /** It may be a forged entry in the user's name: then the user loses nothing. */
        NEW,
        IDLE,
        BUSY,
        /** It is new, but the kernel proves that it is no forgery. */
        NEW_AND_PROVEN,
        PROVEN
    }

    /** Whether only the state, which every user can write, tells how old it is and that the user is at work there. */
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

    /** What the first observation found comes before all others. */
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
