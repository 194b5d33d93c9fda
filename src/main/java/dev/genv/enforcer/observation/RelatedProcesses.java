package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The processes of one observation: those on the GPUs and those related to them.
 *
 * @param omission of which users related processes were left out
 */
record RelatedProcesses(Map<Integer, ObservedProcess> byPid, RelatedOmission omission) {
    static final int MOST_ANCESTORS = 64;
    private static final int FIRST_PROCESS = 1;

    /** Combines the processes that the GPU tool lists with the others in the facts, such as those that hold GPUs without being listed. */
    static RelatedProcesses of(Collection<ObservedProcess> listed, HostFacts facts) {
        var witnesses = new ArrayList<>(listed);
        var holders = facts.holders().holders().stream().map(HolderFacts.Holder::process);
        var omission = facts.relatedOmission();
        for (var other : Stream.concat(facts.related().stream(), holders).toList()) {
            switch (ProcessIdentity.of(other)) {
                case ProcessIdentity.Gone _ -> {}
                case ProcessIdentity.Unreadable _ -> omission = RelatedOmission.OF_ANY_USER;
                case ProcessIdentity.Present(var process) -> {
                    witnesses.add(process);
                    omission = process.uid() == null ? RelatedOmission.OF_ANY_USER : omission;
                }
            }
        }
        return of(witnesses, omission);
    }

    /** Leaves out the processes whose users are unknown. */
    static RelatedProcesses of(Collection<ObservedProcess> processes, RelatedOmission omission) {
        return new RelatedProcesses(
                processes.stream()
                        .filter(process -> process.uid() != null)
                        .collect(Collectors.toUnmodifiableMap(
                                ObservedProcess::pid, Function.identity(), (first, _) -> first)),
                omission);
    }

    /** Whether no process of the user of this one was left out. */
    boolean areComplete(ObservedProcess process) {
        return process.uid() != null && !omission.mayConcern(process.uid());
    }

    /**
     * Returns the parent of a process if it has the same user. It must not be younger, because its pid may have been reused since the parent
     * of the process was read.
     */
    Optional<ObservedProcess> parent(ObservedProcess process) {
        var relations = process.relations();
        return relations == null || relations.parent() <= FIRST_PROCESS
                ? Optional.empty()
                : Optional.ofNullable(byPid.get(relations.parent()))
                        .filter(parent -> parent.hasUserOf(process)
                                && parent.id().startTime() <= process.id().startTime());
    }

    /** Returns the ancestors of the same user, the nearest one first. */
    Stream<ObservedProcess> ancestors(ObservedProcess process) {
        return Stream.iterate(parent(process), Optional::isPresent, ancestor -> ancestor.flatMap(this::parent))
                .limit(MOST_ANCESTORS)
                .flatMap(Optional::stream);
    }

    /** Returns the other processes of the same user in the session that lead it or are in the process group. */
    List<ObservedProcess> leaderAndGroup(ObservedProcess process) {
        return others(
                process, other -> other.isInGroupOf(process) || (other.isInSessionOf(process) && other.leadsSession()));
    }

    List<ObservedProcess> unit(ObservedProcess process) {
        return others(process, other -> other.cgroup().isSameUnit(process.cgroup()));
    }

    List<ObservedProcess> session(ObservedProcess process) {
        return others(process, other -> other.isInSessionOf(process));
    }

    /** Returns the other processes that may have the same user and may be in the same session or cgroup. */
    List<ObservedProcess> companions(ObservedProcess process) {
        return byPid.values().stream()
                .filter(other -> other.pid() != process.pid() && other.mayHaveUserOf(process))
                .filter(other -> other.isInSessionOf(process)
                        || other.cgroup().equals(process.cgroup())
                        || other.cgroup().equals(Cgroup.UNKNOWN))
                .toList();
    }

    private List<ObservedProcess> others(ObservedProcess process, Predicate<ObservedProcess> condition) {
        return byPid.values().stream()
                .filter(other -> other.pid() != process.pid() && other.hasUserOf(process) && condition.test(other))
                .toList();
    }
}
