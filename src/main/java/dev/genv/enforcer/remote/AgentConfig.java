package dev.genv.enforcer.remote;

import java.time.Duration;
import java.util.List;

/**
 * The settings of an agent, the same for all machines.
 *
 * @param stateDirectory genv's state directory on the machines
 * @param lockTimeout the time limit for taking genv's lock
 * @param nvidiaSmi a path, or a name that is searched in the standard directories
 * @param gpuTimeout the time limit of nvidia-smi
 * @param readsStatus whether to read the temperature, the utilization and the memory of the GPUs
 * @param timeout the time limit of a command
 * @param sudo whether commands are run through {@code sudo -n}
 * @param programs the paths of the protected programs
 * @param acts whether any action is executed
 * @param lease how long no other service acts on a machine after this service observed it or acted on it; zero for no such time
 */
public record AgentConfig(
        String stateDirectory,
        Duration lockTimeout,
        String nvidiaSmi,
        Duration gpuTimeout,
        boolean readsStatus,
        Duration timeout,
        boolean sudo,
        List<String> programs,
        boolean acts,
        Duration lease) {

    public AgentConfig {
        programs = List.copyOf(programs);
    }
}
