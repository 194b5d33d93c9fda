package dev.genv.enforcer.observation.unlisted;

import dev.genv.enforcer.facts.HolderFacts.Holder;
import dev.genv.enforcer.observation.gpu.GpuListing;
import dev.genv.enforcer.observation.process.ProcessIdentity;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;

/**
 * From which processes holders descend. The workers of a listed process may have inherited what they map, as after a fork without an
 * execve(2).
 *
 * @param parents the pid of the parent of each holder, by the pid of the holder; without those whose parent is unknown
 */
record Descent(Map<Integer, Integer> parents, GpuListing listing) {
    static Descent of(Collection<Holder> holders, GpuListing listing) {
        var parents = new HashMap<Integer, Integer>();
        for (var holder : holders) {
            if (ProcessIdentity.of(holder.process()) instanceof ProcessIdentity.Present(var process)
                    && process.relations() != null) {
                parents.put(process.id().pid(), process.relations().parent());
            }
        }
        return new Descent(parents, listing);
    }

    /** Whether the parent of a holder is listed on a device, or is a holder of which that is true. So it is if the parent is unknown. */
    boolean mayHaveInherited(int pid, int device) {
        var visited = new HashSet<Integer>();
        var parent = parents.get(pid);
        if (parent == null) {
            return true;
        }
        while (parent != null && visited.add(parent)) {
            if (isListed(parent, device)) {
                return true;
            }
            parent = parents.get(parent);
        }
        return false;
    }

    private boolean isListed(int pid, int device) {
        var uses = listing.usage().get(pid);
        return uses != null && uses.stream().anyMatch(use -> use.device() == device);
    }
}
