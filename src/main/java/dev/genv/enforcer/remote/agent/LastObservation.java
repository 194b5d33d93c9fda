package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import org.jspecify.annotations.Nullable;

/**
 * What actions need from the observation that they are based on.
 *
 * @param devices {@code devices.json}; null if it was not read
 * @param ticks when the state was read, in clock ticks since that boot
 * @param boot the boot id
 * @param nanos when the observation began, as {@link System#nanoTime} of the service
 */
record LastObservation(@Nullable Bytes devices, long ticks, String boot, long nanos) {
    static LastObservation of(HostFacts facts, long nanos) {
        return new LastObservation(
                facts.state().devices() instanceof StateFile.Present(var content) ? content : null,
                facts.machine().beforeState(),
                facts.machine().bootId(),
                nanos);
    }
}
