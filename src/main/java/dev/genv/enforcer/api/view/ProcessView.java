package dev.genv.enforcer.api.view;

import dev.genv.enforcer.model.GpuProcess;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A process as the API shows it.
 *
 * @param startTime in clock ticks since boot
 * @param command the short name, never arguments
 * @param uid the real uid; null if unknown
 * @param membership how it was decided to which environment it belongs
 * @param workload its container, pod, Slurm job and unit of systemd; null if none of them is known
 */
public record ProcessView(
        int pid,
        long startTime,
        String command,
        @Nullable Long uid,
        MembershipView membership,
        @Nullable WorkloadView workload) {

    /** By what the membership was decided, such as {@code environ}. */
    public record MembershipView(String by) {}

    public static List<ProcessView> of(List<GpuProcess> processes) {
        return processes.stream()
                .map(process -> new ProcessView(
                        process.pid(),
                        process.id().startTime(),
                        process.command(),
                        process.uid(),
                        new MembershipView(process.membershipBy().label()),
                        WorkloadView.of(process.workload())))
                .toList();
    }
}
