package dev.genv.enforcer.observation.workload;

import dev.genv.enforcer.model.workload.Workload.Container;
import dev.genv.enforcer.model.workload.Workload.SlurmJob;
import dev.genv.enforcer.model.workload.Workload.WorkloadSource;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the cgroup of a process shows.
 *
 * @param unit the scope or service of systemd
 * @param pod the uid of the pod
 */
record CgroupFinding(
        @Nullable String unit,
        @Nullable Container container,
        @Nullable String pod,
        @Nullable SlurmJob job) {
    static final CgroupFinding NONE = new CgroupFinding(null, null, null, null);

    /** The controllers of the hierarchies in which systemd keeps its units. */
    private static final Set<String> OF_SYSTEMD = Set.of("", "name=systemd");

    /**
     * Parses {@code /proc/PID/cgroup}, see cgroups(7).
     *
     * @param isWhole whether the text does not end within a line
     */
    static CgroupFinding parse(String text, boolean isWhole) {
        // The first names of a path count even if the last ones are missing.
        var known = isWhole ? text : text.substring(0, Math.max(text.lastIndexOf('/'), 0));
        return known.lines().map(CgroupFinding::ofLine).reduce(NONE, CgroupFinding::plus);
    }

    private static CgroupFinding ofLine(String line) {
        var parts = line.split(":", 3);
        if (parts.length < 3) {
            return NONE;
        }
        var found = CgroupPath.parse(parts[2]);
        return OF_SYSTEMD.contains(parts[1]) ? found : new CgroupFinding(null, found.container, found.pod, found.job);
    }

    /** With version 1, some hierarchies may show more than others. */
    private CgroupFinding plus(CgroupFinding other) {
        return new CgroupFinding(
                unit == null ? other.unit : unit,
                container == null || (isClaim(container) && other.container != null) ? other.container : container,
                pod == null ? other.pod : pod,
                job == null ? other.job : job);
    }

    private static boolean isClaim(Container container) {
        return container.by() == WorkloadSource.DELEGATED_CGROUP;
    }
}
