package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import java.time.LocalDateTime;
import java.util.Comparator;
import java.util.List;

/**
 * A device that a user holds, through one environment or several: it counts once.
 *
 * @param shares the user's attachments to it, with their environments
 * @param processes the processes of those environments on it
 * @param idle whether none of the user's environments is at work there
 */
record Holding(String host, int device, List<Share> shares, List<GpuProcess> processes, boolean idle) {
    /**
     * Which one to give up first: an idle one, then the one attached last. So what somebody forged in another's name
     * goes before any running job.
     */
    static final Comparator<Holding> LEAST_HARM = Comparator.comparing((Holding holding) -> !holding.idle)
            .thenComparing(Holding::attachedAt, Comparator.reverseOrder())
            .thenComparing(Holding::host)
            .thenComparing(Comparator.comparingInt(Holding::device).reversed());

    /** One environment's part in it. */
    record Share(Environment environment, Attachment attachment) {}

    private LocalDateTime attachedAt() {
        return shares.stream()
                .map(share -> share.attachment().attachedAt())
                .max(Comparator.naturalOrder())
                .orElse(LocalDateTime.MIN);
    }
}
