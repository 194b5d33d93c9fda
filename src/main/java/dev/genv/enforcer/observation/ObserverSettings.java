package dev.genv.enforcer.observation;

import dev.genv.enforcer.model.device.Memory;
import dev.genv.enforcer.observation.immunity.ProtectedExecutable;
import java.util.List;

/**
 * What the observer of a machine must know besides its facts.
 *
 * @param host the name of the machine in reports
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

    /** Returns all protected programs, in the order in which {@link dev.genv.enforcer.facts.HostFacts#programs} answers for them. */
    public List<ProtectedExecutable> programs() {
        return ProtectedExecutable.with(protectedExecutables);
    }
}
