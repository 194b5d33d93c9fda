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
 */
public record Ownership(@Nullable String dispute, boolean exempt, Set<Long> uids) {
    /** Nothing speaks against what was written. */
    public static final Ownership UNDISPUTED = new Ownership(null, false, Set.of());

    public Ownership {
        uids = Set.copyOf(uids);
    }

    public boolean isDisputed() {
        return dispute != null;
    }
}
