package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.host.HostFacts.RelatedOmission;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.linux.ProcStat.Cgroup;
import dev.genv.enforcer.linux.ProcStat.Relations;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The processes of one observation: those on the GPUs and those related to them.
 *
 * @param omission of which users related processes were left out
 */
public record RelatedProcesses(Map<Integer, RelatedProcess> byPid, RelatedOmission omission) {
    static final int MOST_ANCESTORS = 64;
    private static final int FIRST_PROCESS = 1;

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

    /**
     * A process as a witness for the membership of others, or as the one whose membership is to be decided. It existed unchanged
     * while its parts were read.
     *
     * @param relations its place among the others; null if that changed while it was read
     * @param namespaces the number of PID namespaces that it is in; 0 if unknown
     * @param firstOfNamespace whether it is the first process of its PID namespace, which adopts orphans
     */
    public record RelatedProcess(
            ProcessId id,
            long uid,
            @Nullable Relations relations,
            ProgramEnviron environ,
            Cgroup cgroup,
            int namespaces,
            boolean firstOfNamespace) {
        private static final long ROOT = 0;

        int pid() {
            return id.pid();
        }

        Optional<Membership> named() {
            return environ.content() instanceof ProgramEnviron.Content.Intact(var named)
                    ? Optional.of(named)
                    : Optional.empty();
        }

        /**
         * Whether nothing can be inferred about it from others. Root outside a container is no single user: programs that other users start with
         * sudo have its real uid and an environ of these users.
         */
        boolean isRootOfMachine() {
            return uid == ROOT && namespaces < 2;
        }

        /** Whether the other process has the same user, and is in the same container as far as PID namespaces show that. */
        boolean hasUserOf(RelatedProcess other) {
            return uid == other.uid
                    && namespaces == other.namespaces
                    && (uid != ROOT || cgroup.isSameUnit(other.cgroup));
        }

        /** The same without what was not read. */
        boolean mayHaveUserOf(RelatedProcess other) {
            return uid == other.uid && (namespaces == other.namespaces || namespaces == 0 || other.namespaces == 0);
        }

        /** Whether its environ could not be read, so that it may name any environment. */
        boolean isUnavailable() {
            return environ.content() instanceof ProgramEnviron.Content.Unavailable;
        }

        /** Whether both are in one session. Those that began outside the PID namespace of the service have no id, which is 0. */
        boolean isInSessionOf(RelatedProcess other) {
            return session() != 0 && session() == other.session();
        }

        boolean isInGroupOf(RelatedProcess other) {
            return isInSessionOf(other) && group() == other.group();
        }

        boolean leadsSession() {
            return relations != null && relations.session() == pid();
        }

        /** Returns the id of its session; 0 if unknown. */
        int session() {
            return relations == null ? 0 : relations.session();
        }

        private int group() {
            return relations == null ? 0 : relations.group();
        }
    }

    /**
     * The environ of a program.
     *
     * @param addresses where it is; unknown also if it moved while it was read
     */
    public record ProgramEnviron(Content content, Addresses addresses) {
        private static final Membership.Unknown NOT_AVAILABLE =
                new Membership.Unknown("its environ is not available at this moment");

        /** What an environ says about the membership. */
        public sealed interface Content {
            /** It is as execve(2) wrote it, and names this environment or none. */
            record Intact(Membership named) implements Content {}

            /** The program wrote into it or moved it, so that it says nothing, whatever it contains. */
            record Overwritten() implements Content {}

            /** It could not be read. */
            record Unavailable(Membership.Unknown reason) implements Content {}
        }

        public static ProgramEnviron unavailable(Membership.Unknown reason) {
            return new ProgramEnviron(new Content.Unavailable(reason), Addresses.UNKNOWN);
        }

        /** Returns the environ of a process by its stats before and after the environ was read. */
        public static ProgramEnviron of(EnvironFacts environ, ProcStat before, ProcStat after) {
            var hasThread = !before.hasEnded() && !after.hasEnded();
            var known = before.addresses().areKnown() && after.addresses().areKnown();
            if (hasThread && environ.size() == 0 && !known) {
                return unavailable(
                        NOT_AVAILABLE); // it exits or is in execve: a process cannot set these addresses to 0
            }
            var isSame = hasThread && before.addresses().equals(after.addresses());
            var content = environ.wellFormed() && before.isEnvironInPlace(after, environ.size())
                    ? new Content.Intact(Environ.named(environ.id().array(), environ.digest()))
                    : new Content.Overwritten();
            return new ProgramEnviron(content, isSame ? after.addresses() : Addresses.UNKNOWN);
        }

        /** Whether it is the environ of the same program: a program keeps the addresses when it overwrites its environ. */
        public boolean isOfSameProgram(ProgramEnviron other) {
            return addresses.areKnown() && addresses.equals(other.addresses);
        }
    }
}
