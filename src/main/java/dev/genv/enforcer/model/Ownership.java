package dev.genv.enforcer.model;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What is known of an environment's owner beyond what somebody wrote there.
 *
 * @param dispute how the recorded user, the recorded uid and the real uids of its live pids disagree, as a clause; null
 *     where they do not, as far as they are known
 * @param exempt whether all its live pids belong to users of whom nothing is ended
 * @param uids the real uids of its live pids, as far as they are known
 * @param shellStart when the process whose pid is the environment's id was started, in clock ticks since boot, where it is
 *     alive, listed, and has the recorded uid: no process may be forged in its place, so the environment is at least as old;
 *     null where there is none, or that is not known
 */
public record Ownership(
        @Nullable String dispute,
        boolean exempt,
        Set<Long> uids,
        @Nullable Long shellStart) {
    /** Nothing speaks against what was written. */
    public static final Ownership UNDISPUTED = new Ownership(null, false, Set.of());

    public Ownership {
        uids = Set.copyOf(uids);
    }

    /** Without a known shell. */
    public Ownership(@Nullable String dispute, boolean exempt, Set<Long> uids) {
        this(dispute, exempt, uids, null);
    }

    public boolean isDisputed() {
        return dispute != null;
    }

    public Ownership withShellStart(@Nullable Long ticks) {
        return new Ownership(dispute, exempt, uids, ticks);
    }
}
