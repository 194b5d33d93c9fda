package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.MembershipSource;

/** A membership, and by what it was decided. An unknown one is final: no other source can decide it. */
public record Decision(Membership membership, MembershipSource by) {
    private static final Membership.Unknown UID_UNKNOWN = new Membership.Unknown("its real uid cannot be read");

    /**
     * Returns an unknown membership of a process that has overwritten its environ.
     *
     * @param listed whether an environment lists the pid of the process itself
     */
    static Decision unknown(String reason, boolean listed) {
        return new Decision(
                new Membership.Unknown("it has overwritten its environ, and " + reason, listed),
                MembershipSource.UNKNOWN);
    }

    /** Returns the decision about a process whose environ or uid could not be read. */
    public static Decision unavailable(ProgramEnviron environ) {
        return new Decision(
                environ.content() instanceof ProgramEnviron.Content.Unavailable(var reason) ? reason : UID_UNKNOWN,
                MembershipSource.UNKNOWN);
    }

    static Decision unknown(String reason) {
        return unknown(reason, false);
    }
}
