package dev.genv.enforcer.model;

import org.jspecify.annotations.Nullable;

/**
 * What a process belongs to, as far as it is known. It informs people, and no rule uses it.
 *
 * @param unit the scope or service of systemd; null if there is none, or if it belongs to the container or the job itself
 */
public record Workload(
        @Nullable String unit,
        @Nullable Container container,
        @Nullable Pod pod,
        @Nullable SlurmJob slurmJob) {
    private static final Workload NONE = new Workload(null, null, null, null);

    /**
     * Whether root put the process into a container or a pod. Its uid can be any number there, also that of a user who has nothing to do
     * with it. A container of a user's own engine has only uids of that user.
     */
    public boolean isInContainerOfRoot() {
        return pod != null || (container != null && container.by() == WorkloadSource.CGROUP);
    }

    /** Returns this, or null if nothing is known. */
    public @Nullable Workload orNull() {
        return equals(NONE) ? null : this;
    }

    /**
     * A container.
     *
     * @param id 64 hexadecimal digits; the name of a container of LXC
     * @param engine the engine that created it, such as {@code docker}; null if its cgroup does not show it
     */
    public record Container(String id, @Nullable String engine, WorkloadSource by) {}

    /** A pod of Kubernetes. Its uid is as the API server shows it or, for a static pod, the hash of its manifest. */
    public record Pod(String uid) {}

    /** A job of Slurm, by its number. */
    public record SlurmJob(String id, WorkloadSource by) {}

    /** By what a process was attributed to a container or a job. */
    public enum WorkloadSource implements Labelled {
        /** Its cgroup. Root created it, so it is a fact. */
        CGROUP,
        /** Its cgroup, but below one that a user may manage, as rootless engines do. So it is a claim of the user. */
        DELEGATED_CGROUP,
        /** A variable in its environ. It is a claim of the user. */
        ENVIRON
    }
}
