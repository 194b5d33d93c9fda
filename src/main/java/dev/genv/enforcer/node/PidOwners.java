package dev.genv.enforcer.node;

import dev.genv.enforcer.model.Environment;
import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;

/** The real uids of the pids that environments list. */
final class PidOwners {
    private PidOwners() {}

    /**
     * Those that run and whose uid can be told.
     *
     * @throws IOException where it could not be read for another reason than that the process has ended
     */
    static Map<Integer, Long> of(Collection<Environment> environments, ProcFs proc) throws IOException {
        var listed = new HashSet<Integer>();
        environments.forEach(environment -> listed.addAll(environment.pids()));
        var uids = new HashMap<Integer, Long>();
        if (listed.isEmpty()) {
            return uids;
        }
        // A file can list any number of pids; how many processes there are, the kernel limits.
        for (var pid : proc.pids()) {
            if (listed.contains(pid)) {
                var uid = proc.realUid(pid);
                if (uid != null) {
                    uids.put(pid, uid);
                }
            }
        }
        return uids;
    }
}
