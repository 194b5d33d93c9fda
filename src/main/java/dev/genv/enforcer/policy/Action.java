package dev.genv.enforcer.policy;

import dev.genv.enforcer.model.Device.Attachment;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A planned action on a machine. It is data only; the host executes it. */
public sealed interface Action {
    String host();

    /** The id of the environment that it concerns; empty if there is none. */
    default String environmentId() {
        return switch (this) {
            case Detach detach -> detach.environment().eid();
            case Terminate terminate -> terminate.process().environmentId().orElse("");
        };
    }

    /** Why it is never executed; null if it may be. */
    default @Nullable Immunity immunity() {
        return switch (this) {
            case Terminate terminate -> terminate.process().immunity();
            case Detach detach -> detach.environment().ownership().immunity();
        };
    }

    /** The kind of action. */
    default String type() {
        return switch (this) {
            case Terminate _ -> "terminate";
            case Detach _ -> "detach";
        };
    }

    /** The uid of the process or of the environment; null if it is unknown. */
    default @Nullable Long uid() {
        return switch (this) {
            case Terminate terminate -> terminate.process().uid();
            case Detach detach -> detach.environment().uid();
        };
    }

    /** The devices that it concerns. */
    default List<Integer> devices() {
        return switch (this) {
            case Terminate terminate -> terminate.process().devices();
            case Detach detach -> List.of(detach.device());
        };
    }

    /** Terminate this process with this signal. */
    record Terminate(String host, GpuProcess process, Signal signal) implements Action {

        /** Terminate with SIGTERM. */
        public Terminate(String host, GpuProcess process) {
            this(host, process, Signal.TERM);
        }

        public HostProcess target() {
            return new HostProcess(host, process.id());
        }
    }

    /** Remove this attachment of an environment to a device from the state. */
    record Detach(String host, Environment environment, int device, Attachment attachment) implements Action {}

    /** The signal that terminates a process. */
    enum Signal {
        /** SIGTERM: the process may clean up. */
        TERM,
        /** SIGKILL: sent to a process that continued to break rules after SIGTERM. */
        KILL
    }
}
