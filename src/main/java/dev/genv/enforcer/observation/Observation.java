package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.StateFacts;
import dev.genv.enforcer.host.StateFacts.Directory;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Device.DeviceStatus;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Snapshot;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The result of an observation of one machine.
 *
 * @param driver the version of the GPU driver; null if unknown
 * @param ticks when the state was read, in clock ticks since boot, like the start time of a process
 * @param ended the verified processes that have certainly exited
 * @param missingPrivileges the privileges that the service lacks here, such as {@code SYS_PTRACE}; each is also a problem that says how
 *     to grant it
 * @param readOnlyReason why no action may be executed on this host; null if actions may be executed
 * @param machine an id of the machine that does not depend on its name; null if unknown
 * @param lockWait how long the observation waited for genv's lock; null if it did not, or if that is unknown
 * @param accounts the local accounts; none if they could not be read
 * @param status what is observed only for those who watch the machine
 */
public record Observation(
        Snapshot snapshot,
        @Nullable String driver,
        long ticks,
        Set<ProcessId> ended,
        List<String> missingPrivileges,
        @Nullable String readOnlyReason,
        @Nullable String machine,
        @Nullable Duration lockWait,
        Listings listings,
        Accounts accounts,
        MachineStatus status) {

    /** Returns the observation with further problems, which hide no data. */
    public Observation withProblems(List<Problem> more) {
        return more.isEmpty()
                ? this
                : new Observation(
                        snapshot.withProblems(more),
                        driver,
                        ticks,
                        ended,
                        missingPrivileges,
                        readOnlyReason,
                        machine,
                        lockWait,
                        listings,
                        accounts,
                        status);
    }

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
}
