package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.model.ProcessId;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What must be known of a look when something is done for it.
 *
 * @param watchesOnly why nothing may be done; null where it may
 * @param records what was read of the environments, by process
 * @param devices {@code devices.json}, a char a byte; null where it could not be read
 * @param ticks when the state was read, in clock ticks since that boot
 * @param boot which boot that was
 * @param nanos when the look was begun, here
 */
record ObservedMachine(
        @Nullable String watchesOnly,
        Protection protection,
        Map<ProcessId, String> records,
        @Nullable String devices,
        long ticks,
        String boot,
        long nanos) {}
