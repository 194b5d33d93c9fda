package dev.genv.enforcer.testsupport;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.observation.ProcessIdentity.ObservedProcess;
import dev.genv.enforcer.observation.ProcessIdentity.ProgramEnviron.Content;

/** The membership that the environ of a process names. */
public final class NamedMembership {
    private NamedMembership() {}

    public static Membership of(ObservedProcess process) {
        return switch (process.environ().content()) {
            case Content.Intact(var named) -> named;
            case Content.Unavailable(var reason) -> reason;
            case Content.Overwritten() -> new Membership.Unknown("it is overwritten");
        };
    }
}
