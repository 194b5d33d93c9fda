package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;

/**
 * The processes that count as gone although they still run.
 *
 * @param asked those that were asked to end a short while ago
 * @param now those that a rule ends in this cycle
 */
record Ending(Set<HostProcess> asked, Set<HostProcess> now) {

    Ending and(Collection<HostProcess> more) {
        var all = new HashSet<>(now);
        all.addAll(more);
        return new Ending(asked, all);
    }

    boolean covers(String host, GpuProcess process) {
        var target = new HostProcess(host, process.id());
        return asked.contains(target) || now.contains(target);
    }

    boolean isNow(String host, GpuProcess process) {
        return now.contains(new HostProcess(host, process.id()));
    }
}
