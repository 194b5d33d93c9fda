package dev.genv.enforcer.api.view;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import java.util.Optional;
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
            @Nullable ContainerView container,
            @Nullable PodView pod,
            @Nullable SlurmJobView slurmJob) {

        public record ContainerView(String id) {}

        public record PodView(String uid) {}

        public record SlurmJobView(String id) {}

        private static @Nullable WorkloadView of(Workload workload) {
            if (Set.of(Workload.NONE, Workload.UNKNOWN).contains(workload)) {
                return null;
            }
            return new WorkloadView(
                    workload.cgroup(),
                    Optional.ofNullable(workload.container())
                            .map(container -> new ContainerView(container.id()))
                            .orElse(null),
                    Optional.ofNullable(workload.pod())
                            .map(pod -> new PodView(pod.uid()))
                            .orElse(null),
                    Optional.ofNullable(workload.slurmJob())
                            .map(job -> new SlurmJobView(job.id()))
                            .orElse(null));
        }
    }
}
