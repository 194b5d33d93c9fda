package dev.genv.enforcer.remote;

import dev.genv.enforcer.observation.ProtectedExecutable;
import java.time.Duration;
import java.util.List;

/**
 * What an agent goes by on every host.
 *
 * @param stateDirectory genv's, on the hosts
 * @param lockTimeout how long to wait for genv's lock
 * @param nvidiaSmi a path, or a name that is looked for in the usual folders
 * @param gpuTimeout how long nvidia-smi may take
 * @param timeout how long a command may take, from its start to its end
 * @param sudo whether commands are run through {@code sudo -n}
 * @param requireHostPid whether to act only in a host's first PID namespace
 * @param protectedExecutables the programs that are never ended, besides those that are built in
 * @param exemptUsers names or uids of users of whom nothing is ended
 * @param acts whether anything is done at all
 * @param signals whether processes are ended then
 * @param lease how long after a look or an act of ours no other service acts on that host; with zero, others can at once
 */
public record Terms(
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

    public Terms {
        protectedExecutables = List.copyOf(protectedExecutables);
        exemptUsers = List.copyOf(exemptUsers);
    }
}
