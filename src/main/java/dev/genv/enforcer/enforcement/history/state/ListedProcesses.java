package dev.genv.enforcer.enforcement.history.state;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The pids of the processes on the GPUs, and the environments that they name, by {@link BoundedText}. */
public record ListedProcesses(Set<Integer> pids, Set<String> named) {
    static ListedProcesses of(List<GpuProcess> processes) {
        return new ListedProcesses(
                processes.stream().map(GpuProcess::pid).collect(Collectors.toSet()),
                processes.stream()
                        .flatMap(process -> process.membership() instanceof Membership.InEnvironment(var eid)
                                ? Stream.of(BoundedText.of(eid))
                                : Stream.empty())
                        .collect(Collectors.toSet()));
    }

    /** Returns these and others. */
    ListedProcesses with(ListedProcesses others) {
        return new ListedProcesses(union(pids, others.pids), union(named, others.named));
    }

    private static <T> Set<T> union(Set<T> one, Set<T> other) {
        return Stream.of(one, other).flatMap(Set::stream).collect(Collectors.toSet());
    }
}
