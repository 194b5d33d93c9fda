package dev.genv.enforcer.api.view;

import dev.genv.enforcer.model.workload.Workload;
import dev.genv.enforcer.model.workload.Workload.Container;
import dev.genv.enforcer.model.workload.Workload.Pod;
import dev.genv.enforcer.model.workload.Workload.SlurmJob;
import org.jspecify.annotations.Nullable;

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

    /**
     * A container.
     *
     * @param by {@code cgroup}, or {@code delegated_cgroup} if the user may have chosen the id
     */
    public record ContainerView(String id, @Nullable String engine, String by) {
        static @Nullable ContainerView of(@Nullable Container container) {
            return container == null
                    ? null
                    : new ContainerView(
                            container.id(), container.engine(), container.by().label());
        }
    }

    /** A pod of Kubernetes. */
    public record PodView(String uid) {
        static @Nullable PodView of(@Nullable Pod pod) {
            return pod == null ? null : new PodView(pod.uid());
        }
    }

    /**
     * A job of Slurm.
     *
     * @param by {@code cgroup}, or {@code environ} if the user may have chosen the id
     */
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
