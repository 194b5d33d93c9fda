package dev.genv.enforcer.model.workload;

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
}
