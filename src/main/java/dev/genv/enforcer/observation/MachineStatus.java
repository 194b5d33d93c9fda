package dev.genv.enforcer.observation;

import dev.genv.enforcer.facts.StateFacts;
import dev.genv.enforcer.facts.StateFacts.Directory;
import dev.genv.enforcer.facts.StateFacts.StateFile;
import dev.genv.enforcer.model.device.DeviceStatus;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is observed of a machine only for those who watch it. No rule uses it.
 *
 * @param hasGenv whether genv has recorded something on the machine; null if unknown
 * @param devices the status of each device, if nvidia-smi was asked for it and knows it
 */
public record MachineStatus(@Nullable Boolean hasGenv, List<DeviceStatus> devices) {
    public static final MachineStatus UNKNOWN = new MachineStatus(null, List.of());

    public MachineStatus {
        devices = List.copyOf(devices);
    }

    static MachineStatus of(StateFacts state, List<DeviceStatus> devices) {
        return new MachineStatus(hasGenv(state), devices);
    }

    /** An empty directory is none of genv's: the engine of a container creates it for the mount. */
    private static @Nullable Boolean hasGenv(StateFacts state) {
        return switch (state.directory()) {
            case Directory.Present _ ->
                !(state.envs() instanceof StateFile.Absent && state.devices() instanceof StateFile.Absent);
            case Directory.Absent _ -> false;
            case Directory.UserMount _, Directory.Stale _, Directory.Unreadable _ -> null;
        };
    }
}
