package dev.genv.enforcer.node.kubelet;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.Reading;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Everything in the cgroups of processes that may be the uid of a pod or the id of a container. What it is in fact is decided later.
 *
 * @param ids with dashes instead of the underscores of systemd
 */
record CgroupIds(Set<String> ids) {
    private static final String POD = "pod";
    private static final Pattern DIGITS = Pattern.compile("[0-9a-f_-]{32,}");
    /** The lengths of a container's id, of a UUID, and of the hash of a static pod's manifest. */
    private static final List<Integer> LENGTHS = List.of(64, 36, 32);

    /** Returns those of processes that may be in pods. */
    static CgroupIds of(List<ProcessFacts> processes) {
        var ids = new HashSet<String>();
        for (var process : processes) {
            if (process.cgroup() instanceof Reading.Value<Bytes>(var content)) {
                addAll(content.text(), ids);
            }
        }
        return new CgroupIds(ids);
    }

    private static void addAll(String cgroup, Set<String> ids) {
        if (cgroup.contains(POD)) {
            DIGITS.matcher(cgroup).results().map(match -> match.group()).forEach(digits -> {
                for (var length : LENGTHS) {
                    if (digits.length() >= length) {
                        ids.add(digits.substring(digits.length() - length).replace('_', '-'));
                    }
                }
            });
        }
    }

    boolean isEmpty() {
        return ids.isEmpty();
    }

    /** Whether a directory in {@code /var/log/pods} is that of such a pod. */
    boolean isPod(String name) {
        return ids.contains(name.substring(name.lastIndexOf('_') + 1));
    }

    /** Whether a file in {@code /var/log/containers} is that of such a container. */
    boolean isContainer(String name) {
        var end = name.lastIndexOf('.');
        return end > 0 && ids.contains(name.substring(name.lastIndexOf('-', end) + 1, end));
    }
}
