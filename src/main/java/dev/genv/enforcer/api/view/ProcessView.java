package dev.genv.enforcer.api.view;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A process as the API shows it. */
public record ProcessView(
        int pid,
        long startTime,
        String command,
        @Nullable Long uid,
        @Nullable String user,
        @Nullable String userBy,
        MembershipView membership,
        @Nullable WorkloadView workload) {

    /** By what the membership was decided, such as {@code environ}. */
    public record MembershipView(String by) {}

    public static ProcessView of(GpuProcess process) {
        var user = process.user();
        return new ProcessView(
                process.pid(),
                process.id().startTime(),
                process.command(),
                process.uid(),
                process.userName(),
                user == null ? null : user.by().label(),
                new MembershipView(process.membershipBy().label()),
                WorkloadView.of(process.workload()));
    }

    /** What a process belongs to besides its environment. Each part is null if there is none or it is unknown. */
    public record WorkloadView(
            @Nullable String cgroup,
            @Nullable Container container,
            @Nullable Pod pod,
            @Nullable SlurmJob slurmJob) {
        private static @Nullable WorkloadView of(Workload workload) {
            if (Set.of(Workload.NONE, Workload.UNKNOWN).contains(workload)) {
                return null;
            }
            return new WorkloadView(workload.cgroup(), workload.container(), workload.pod(), workload.slurmJob());
        }
    }
}
