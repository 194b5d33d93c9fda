package dev.genv.enforcer.facts;

import java.util.List;

/**
 * What the kubelet's log files tell about pods. Only those are in it that the cgroups of observed processes name; none on a machine that
 * is no node of Kubernetes.
 *
 * @param pods the names of directories in {@code /var/log/pods}: {@code NAMESPACE_POD_UID}
 * @param containers the names of files in {@code /var/log/containers}: {@code POD_NAMESPACE_CONTAINER-ID.log}
 */
public record PodFacts(List<String> pods, List<String> containers) {
    /** The largest number of names of each kind. */
    public static final int MOST_NAMES = 4096;

    public static final PodFacts NONE = new PodFacts(List.of(), List.of());
}
