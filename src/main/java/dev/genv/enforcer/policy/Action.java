package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.HostProcess;

/** Something to be done on a machine. Only data: the machine's host does it. */
public sealed interface Action {
    String host();

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
