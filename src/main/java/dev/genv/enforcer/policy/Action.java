package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;
import dev.genv.enforcer.model.Membership;

/** Something to be done on a machine. Only data: the machine's host does it. */
public sealed interface Action {
    String host();

    /** The id of the environment that it concerns: the one that the process names; empty where there is none. */
    default String environmentId() {
        return switch (this) {
            case Detach detach -> detach.environment().eid();
            case Terminate terminate ->
                terminate.process().membership() instanceof Membership.InEnvironment(var eid) ? eid : "";
        };
    }

    /** End this very process, with this signal. */
    record Terminate(String host, GpuProcess process, Signal signal) implements Action {

        /** Asks it to end. */
        public Terminate(String host, GpuProcess process) {
            this(host, process, Signal.TERM);
        }

        public HostProcess target() {
            return new HostProcess(host, process.id());
        }
    }

    /** Take this very attachment of an environment to a device out of the state. */
    record Detach(String host, Environment environment, int device, Attachment attachment) implements Action {}
}
