package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The processes that rules treat as gone although they still run.
 *
 * @param signalled those that were signalled recently
 * @param terminated those that a rule terminates in this cycle
 */
public record ExpectedExits(Set<HostProcess> signalled, Set<HostProcess> terminated) {

    public ExpectedExits and(Collection<HostProcess> more) {
        var all = new HashSet<>(terminated);
        all.addAll(more);
        return new ExpectedExits(signalled, all);
    }

    /** Returns whether a process of this machine is treated as gone. */
    Predicate<GpuProcess> on(String host) {
        return process -> {
            var target = new HostProcess(host, process.id());
            return signalled.contains(target) || terminated.contains(target);
        };
    }

    boolean isNow(String host, GpuProcess process) {
        return terminated.contains(new HostProcess(host, process.id()));
    }
}
