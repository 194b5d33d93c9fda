package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.facts.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.format.linux.Cgroup;
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
public record RelatedProcesses(Map<Integer, RelatedProcess> byPid, RelatedOmission omission) {
    static final int MOST_ANCESTORS = 64;
    private static final int FIRST_PROCESS = 1;

    /** Creates the processes of an observation. */
    public static RelatedProcesses of(Collection<RelatedProcess> processes, RelatedOmission omission) {
        return new RelatedProcesses(
                processes.stream()
                        .collect(Collectors.toUnmodifiableMap(
                                RelatedProcess::pid, Function.identity(), (first, _) -> first)),
                omission);
    }

    /** Whether no process of the user of this one was left out. */
    boolean areComplete(RelatedProcess process) {
        return !omission.mayConcern(process.uid());
    }

    /**
     * Returns the parent of a process if it has the same user. It must not be younger, because its pid may have been reused since the parent
     * of the process was read.
     */
    Optional<RelatedProcess> parent(RelatedProcess process) {
        var relations = process.relations();
        return relations == null || relations.parent() <= FIRST_PROCESS
                ? Optional.empty()
                : Optional.ofNullable(byPid.get(relations.parent()))
                        .filter(parent -> parent.hasUserOf(process)
                                && parent.id().startTime() <= process.id().startTime());
    }

    /** Returns the ancestors of the same user, the nearest one first. */
    Stream<RelatedProcess> ancestors(RelatedProcess process) {
        return Stream.iterate(parent(process), Optional::isPresent, ancestor -> ancestor.flatMap(this::parent))
                .limit(MOST_ANCESTORS)
                .flatMap(Optional::stream);
    }

    /** Returns the other processes of the same user in the session that lead it or are in the process group. */
    List<RelatedProcess> leaderAndGroup(RelatedProcess process) {
        return others(
                process, other -> other.isInGroupOf(process) || (other.isInSessionOf(process) && other.leadsSession()));
    }

    /** Returns the other processes of the same user in the container or unit. */
    List<RelatedProcess> unit(RelatedProcess process) {
        return others(process, other -> other.cgroup().isSameUnit(process.cgroup()));
    }

    /** Returns the other processes of the same user in the session. */
    List<RelatedProcess> session(RelatedProcess process) {
        return others(process, other -> other.isInSessionOf(process));
    }

    /** Returns the other processes that may have the same user and may be in the same session or cgroup. */
    List<RelatedProcess> companions(RelatedProcess process) {
        return byPid.values().stream()
                .filter(other -> other.pid() != process.pid() && other.mayHaveUserOf(process))
                .filter(other -> other.isInSessionOf(process)
                        || other.cgroup().equals(process.cgroup())
                        || other.cgroup().equals(Cgroup.UNKNOWN))
                .toList();
    }

    private List<RelatedProcess> others(RelatedProcess process, Predicate<RelatedProcess> condition) {
        return byPid.values().stream()
                .filter(other -> other.pid() != process.pid() && other.hasUserOf(process) && condition.test(other))
                .toList();
    }
}
