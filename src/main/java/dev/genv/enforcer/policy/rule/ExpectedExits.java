package dev.genv.enforcer.policy.rule;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The processes that rules treat as gone although they still run, and those that were expected to exit and did not.
 *
 * @param signalled those that were signalled
 * @param overdue those that were signalled and did not exit in time: rules do not treat them as gone, and choose them before others
 * @param terminated those that a rule terminates in this cycle
 */
public record ExpectedExits(Set<HostProcess> signalled, Set<HostProcess> overdue, Set<HostProcess> terminated) {
    public ExpectedExits and(Collection<HostProcess> more) {
        var all = new HashSet<>(terminated);
        all.addAll(more);
        return new ExpectedExits(signalled, overdue, all);
    }

    /** Returns whether a process of this machine is treated as gone. */
    Predicate<GpuProcess> on(String host) {
        return process -> {
            var target = new HostProcess(host, process.id());
            return (signalled.contains(target) && !overdue.contains(target)) || terminated.contains(target);
        };
    }

    /** Returns whether a process of this machine did not exit in time. */
    Predicate<GpuProcess> overdueOn(String host) {
        return process -> overdue.contains(new HostProcess(host, process.id()));
    }

    boolean isNow(String host, GpuProcess process) {
        return terminated.contains(new HostProcess(host, process.id()));
    }
}
