package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.observation.process.ImmunityRules.ProtectedExecutable;
import java.util.List;

/**
 * What the observer of a machine must know besides its facts.
 *
 * @param stateDirectory the path of genv's state directory
 * @param protectedExecutables programs that are never terminated, besides the built-in ones
 * @param exemptUsers names or uids of users whose processes are never terminated
 * @param requireHostPid whether to act only in the first PID namespace, to which the GPU tool's pids belong
 * @param acts whether any action is executed
 * @param signals whether processes are terminated
 * @param overwrittenIsOutside whether a process counts as outside of all environments if it has overwritten its environ, and nothing shows
 *     to which environment it belongs
 * @param advice how a missing privilege is given
 * @param unlistedMemory how much memory of a device may belong to no listed process before it is reported
 */
public record ObserverSettings(
        String host,
        String stateDirectory,
        List<ProtectedExecutable> protectedExecutables,
        List<String> exemptUsers,
        boolean requireHostPid,
        boolean acts,
        boolean signals,
        boolean overwrittenIsOutside,
        Advice advice,
        Memory unlistedMemory) {
    public ObserverSettings {
        protectedExecutables = List.copyOf(protectedExecutables);
        exemptUsers = List.copyOf(exemptUsers);
    }

    /** Returns all protected programs, in the order in which {@link dev.genv.enforcer.host.HostFacts#programs} answers for them. */
    public List<ProtectedExecutable> programs() {
        return ProtectedExecutable.with(protectedExecutables);
    }

    /** How the service is given a privilege: as a container on the machine, or as a login over SSH. */
    public enum Advice {
        CONTAINER(
                "this is not the host's PID namespace",
                "run with --pid=host",
                "run as root with --cap-add %s",
                "%s cannot be written, so nothing can be detached: mount it writable, with mode 0777"),
        LOGIN(
                "this login is not in the host's PID namespace",
                "log in on the host itself, not in a container",
                "log in as root, or let sudo give it",
                "%s cannot be written on the machine, so nothing can be detached: set its mode to 0777");

        private final String otherNamespace;
        private final String enterNamespace;
        private final String addCapability;
        private final String openState;

        Advice(String otherNamespace, String enterNamespace, String addCapability, String openState) {
            this.otherNamespace = otherNamespace;
            this.enterNamespace = enterNamespace;
            this.addCapability = addCapability;
            this.openState = openState;
        }

        /** Why no action is executed outside the host's PID namespace. */
        String namespaceReason() {
            return otherNamespace + ": " + enterNamespace;
        }

        /** The same with the consequence. */
        String namespace() {
            var place = this == CONTAINER ? "here" : "there";
            return "%s, so the pids of GPU processes refer to other processes %s: %s"
                    .formatted(otherNamespace, place, enterNamespace);
        }

        String capability(String name) {
            return addCapability.formatted(name);
        }

        String state(String directory) {
            return openState.formatted(directory);
        }
    }
}
