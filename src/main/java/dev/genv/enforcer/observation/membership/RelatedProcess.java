package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.format.linux.Cgroup;
import dev.genv.enforcer.format.linux.ProcStat.Relations;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A process as a witness for the membership of others, or as the one whose membership is to be decided. It existed unchanged while its
 * parts were read.
 *
 * @param uid its real uid
 * @param relations its place among the others; null if that changed while it was read
 * @param cgroup its cgroup
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

    /** Returns the membership that its environ names, if that is intact. */
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
        return uid == other.uid && namespaces == other.namespaces && (uid != ROOT || cgroup.isSameUnit(other.cgroup));
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
