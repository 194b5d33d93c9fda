package dev.genv.enforcer.model;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What other sources say about the recorded owner of an environment.
 *
 * @param dispute how the recorded user, the recorded uid and the real uids of its live pids disagree, as a clause; null if
 *     they agree as far as they are known
 * @param exempt whether all its live pids belong to exempt users
 * @param uids the real uids of its live pids, as far as they are known
 * @param account the account of the machine that has the recorded uid: the recorded user, or without a recorded user the first
 *     account with this uid by its name. Null if there is none
 */
public record Ownership(
        @Nullable String dispute,
        boolean exempt,
        Set<Long> uids,
        @Nullable String account) {
    /** No source contradicts the record. */
    public static final Ownership UNDISPUTED = new Ownership(null, false, Set.of());

    public Ownership {
        uids = Set.copyOf(uids);
    }

    public Ownership(@Nullable String dispute, boolean exempt, Set<Long> uids) {
        this(dispute, exempt, uids, null);
    }

    public boolean isDisputed() {
        return dispute != null;
    }

    /** Whether an account of the machine confirms the owner. */
    public boolean isAccount() {
        return account != null;
    }

    public Ownership withAccount(@Nullable String account) {
        return new Ownership(dispute, exempt, uids, account);
    }
}
