package dev.genv.enforcer.api.view;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
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

    public static ProcessView of(GpuProcess process) {
        return new ProcessView(
                process.pid(),
                process.id().startTime(),
                process.command(),
                process.uid(),
                new MembershipView(process.membershipBy().label()),
                WorkloadView.of(process.workload()));
    }

    /**
     * What a process belongs to besides its environment. Each part is null if there is none or it is unknown.
     *
     * @param unit the scope or service of systemd
     */
    public record WorkloadView(
            @Nullable String unit,
            @Nullable ContainerView container,
            @Nullable PodView pod,
            @Nullable SlurmJobView slurmJob) {

        /** A container, by {@code cgroup}, or {@code delegated_cgroup} if the user may have chosen the id. */
        public record ContainerView(String id, @Nullable String engine, String by) {
            static @Nullable ContainerView of(@Nullable Container container) {
                return container == null
                        ? null
                        : new ContainerView(
                                container.id(),
                                container.engine(),
                                container.by().label());
            }
        }

        public record PodView(String uid) {
            static @Nullable PodView of(@Nullable Pod pod) {
                return pod == null ? null : new PodView(pod.uid());
            }
        }

        /** A job of Slurm, by {@code cgroup}, or {@code environ} if the user may have chosen the id. */
        public record SlurmJobView(String id, String by) {
            static @Nullable SlurmJobView of(@Nullable SlurmJob job) {
                return job == null ? null : new SlurmJobView(job.id(), job.by().label());
            }
        }

        static @Nullable WorkloadView of(@Nullable Workload workload) {
            return workload == null
                    ? null
                    : new WorkloadView(
                            workload.unit(),
                            ContainerView.of(workload.container()),
                            PodView.of(workload.pod()),
                            SlurmJobView.of(workload.slurmJob()));
        }
    }
}
