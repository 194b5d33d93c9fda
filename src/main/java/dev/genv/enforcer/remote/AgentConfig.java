package dev.genv.enforcer.remote;

import dev.genv.enforcer.observation.ProtectedExecutable;
import java.time.Duration;
import java.util.List;

/**
 * The settings of an agent, the same for all machines.
 *
 * @param stateDirectory genv's state directory on the machines
 * @param lockTimeout the time limit for taking genv's lock
 * @param nvidiaSmi a path, or a name that is searched in the standard directories
 * @param gpuTimeout the time limit of nvidia-smi
 * @param timeout the time limit of a command
 * @param sudo whether commands are run through {@code sudo -n}
 * @param requireHostPid whether to act only in the first PID namespace of a machine
 * @param protectedExecutables programs that are never terminated, besides the built-in ones
 * @param exemptUsers names or uids of users whose processes are never terminated
 * @param acts whether any action is executed
 * @param signals whether processes are terminated
 * @param lease how long no other service acts on a machine after this service observed it or acted on it; zero for no such time
 */
public record AgentConfig(
        String stateDirectory,
        Duration lockTimeout,
        String nvidiaSmi,
        Duration gpuTimeout,
        Duration timeout,
        boolean sudo,
        boolean requireHostPid,
        List<ProtectedExecutable> protectedExecutables,
        List<String> exemptUsers,
        boolean acts,
        boolean signals,
        Duration lease) {

    public AgentConfig {
        protectedExecutables = List.copyOf(protectedExecutables);
        exemptUsers = List.copyOf(exemptUsers);
    }
}
