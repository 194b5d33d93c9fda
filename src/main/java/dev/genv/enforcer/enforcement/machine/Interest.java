package dev.genv.enforcer.enforcement.machine;

import dev.genv.enforcer.model.ProcessId;
import java.util.Set;

/**
 * What an observation needs besides what every one gathers.
 *
 * @param verified the processes whose exit the service waits for
 * @param settled the processes whose relations need not be gathered, because their membership is remembered
 */
public record Interest(Set<ProcessId> verified, Set<ProcessId> settled) {
    public Interest {
        verified = Set.copyOf(verified);
        settled = Set.copyOf(settled);
    }
}
