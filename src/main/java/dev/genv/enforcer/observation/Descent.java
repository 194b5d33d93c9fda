package dev.genv.enforcer.observation;

import dev.genv.enforcer.facts.HolderFacts.Holder;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * From which processes holders descend. The workers of a listed process may have inherited what they map, as after a fork without an
 * execve(2).
 *
 * @param parents the pid of the parent of each holder, by the pid of the holder; without those whose parent is unknown
 * @param listed the pids of the listed processes
 */
record Descent(Map<Integer, Integer> parents, Set<Integer> listed) {
    static Descent of(Collection<Holder> holders, Set<Integer> listed) {
        var parents = new HashMap<Integer, Integer>();
        for (var holder : holders) {
            if (ProcessIdentity.of(holder.process()) instanceof ProcessIdentity.Present(var process)
                    && process.relations() != null) {
                parents.put(process.id().pid(), process.relations().parent());
            }
        }
        return new Descent(parents, listed);
    }

    /** Whether the parent of a process is listed, or is a holder of which that is true. So it is if the parent is unknown. */
    boolean isOfListed(ObservedProcess process) {
        if (process.relations() == null) {
            return true;
        }
        var visited = new HashSet<Integer>();
        var parent = parents.get(process.id().pid());
        while (parent != null && visited.add(parent)) {
            if (listed.contains(parent)) {
                return true;
            }
            parent = parents.get(parent);
        }
        return false;
    }
}
