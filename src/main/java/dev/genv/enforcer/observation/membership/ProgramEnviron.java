package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.host.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.linux.Environ;
import dev.genv.enforcer.linux.ProcStat;
import dev.genv.enforcer.linux.ProcStat.Addresses;
import dev.genv.enforcer.model.Membership;

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
            return unavailable(NOT_AVAILABLE); // it exits or is in execve: a process cannot set these addresses to 0
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
