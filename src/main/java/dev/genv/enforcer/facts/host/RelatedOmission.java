package dev.genv.enforcer.facts.host;

import java.util.Set;

/**
 * The users of whose related processes some were left out. Only processes of the same real uid are related, so one user's many processes
 * say nothing about the completeness of those of another.
 *
 * @param ofAnyUser whether they may be of any user, for example because the time was used up
 * @param uids otherwise the real uids of the users
 */
public record RelatedOmission(boolean ofAnyUser, Set<Long> uids) {
    public static final RelatedOmission NONE = new RelatedOmission(false, Set.of());
    public static final RelatedOmission OF_ANY_USER = new RelatedOmission(true, Set.of());

    public RelatedOmission {
        uids = Set.copyOf(uids);
    }

    /** Whether processes of this real uid may have been left out. */
    public boolean mayConcern(long uid) {
        return ofAnyUser || uids.contains(uid);
    }
}
