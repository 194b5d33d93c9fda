package dev.genv.enforcer.enforcement.history.state;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What is saved of a host besides its environments.
 *
 * @param listed every device that the GPU tool ever listed
 * @param onGpu the last complete listing of the GPU tool
 * @param machine the identity of the machine and of its boot; null if unknown
 * @param lastListedAt when it left the list, by the clock that counts towards an action; null while it is in the list
 */
public record SavedHost(
        DelistedPids.Saved delisted,
        ObservedParts.Saved observed,
        Set<Integer> listed,
        ListedProcesses onGpu,
        @Nullable String machine,
        @Nullable Long lastListedAt) {
    /** The name of a host. */
    public record Key(String host) {}
}
