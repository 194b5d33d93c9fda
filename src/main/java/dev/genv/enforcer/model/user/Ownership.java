package dev.genv.enforcer.model.user;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What other sources say about the recorded owner of an environment.
 *
 * @param dispute how the recorded user, the recorded uid and the real uids of its live pids disagree, as a clause; null if
 *     they agree as far as they are known
 * @param exempt whether all its live pids belong to exempt users
 * @param uids the real uids of its live pids, as far as they are known
 * @param shellStart when the process whose pid is the environment's id was started, in clock ticks since boot, if it is alive,
 *     listed, and has the recorded uid. No user can forge such a process, so the environment is at least as old. Null if there is
 *     none or it is unknown
 * @param account the account of the machine that has the recorded uid: the recorded user, or without a recorded user the first
 *     account with this uid by its name. Null if there is none
 */
public record Ownership(
        @Nullable String dispute,
        boolean exempt,
        Set<Long> uids,
        @Nullable Long shellStart,
        @Nullable String account) {
    /** No source contradicts the record. */
    public static final Ownership UNDISPUTED = new Ownership(null, false, Set.of());

    public Ownership {
        uids = Set.copyOf(uids);
    }

    /** Creates an ownership without a known shell and without an account. */
    public Ownership(@Nullable String dispute, boolean exempt, Set<Long> uids) {
        this(dispute, exempt, uids, null, null);
    }

    public boolean isDisputed() {
        return dispute != null;
    }

    public Ownership withShellStart(@Nullable Long ticks) {
        return new Ownership(dispute, exempt, uids, ticks, account);
    }

    /** Whether an account of the machine confirms the owner. */
    public boolean isAccount() {
        return account != null;
    }

    public Ownership withAccount(@Nullable String account) {
        return new Ownership(dispute, exempt, uids, shellStart, account);
    }
}
