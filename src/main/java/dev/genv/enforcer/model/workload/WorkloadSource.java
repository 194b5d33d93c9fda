package dev.genv.enforcer.model.workload;

import java.util.Locale;

/** By what a process was attributed to a container or a job. */
public enum WorkloadSource {
    /** Its cgroup. Root created it, so it is a fact. */
    CGROUP,
    /** Its cgroup, but below one that a user may manage, as rootless engines do. So it is a claim of the user. */
    DELEGATED_CGROUP,
    /** A variable in its environ. It is a claim of the user. */
    ENVIRON;

    /** Returns the name as the API shows it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
