package dev.genv.enforcer.api.report;

import dev.genv.enforcer.api.view.ProcessView;
import dev.genv.enforcer.api.view.ViolationView;
import java.time.LocalDateTime;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a user.
 *
 * @param user the name, or the uid of a user without a name
 * @param deviceLimit the number of devices that the user may hold; null without a limit
 * @param devicesHeld the number of devices that the limit counts
 * @param devices the attached devices
 * @param processes the processes in the user's environments, and those of the user's uids
 * @param violations the active ones, and then the latest resolved ones, each the newest first
 */
public record UserView(
        String user,
        @Nullable Integer deviceLimit,
        int devicesHeld,
        List<AttachedView> devices,
        List<UserProcessView> processes,
        List<ViolationView> violations) {

    /**
     * A device that is attached to an environment of the user.
     *
     * @param since when it was attached, in the host's local time, as genv recorded it; null if that is unreadable
     * @param counted whether the limit counts it: every part of the host was observed, the GPU tool lists the device, and the owner of
     *     the environment is not disputed
     */
    public record AttachedView(
            String host,
            int device,
            String environment,
            @Nullable LocalDateTime since,
            boolean counted) {}

    /** A process on the devices; its environment is null if it belongs to none or if that is unknown. */
    public record UserProcessView(
            String host, @Nullable String environment, List<UsageView> devices, ProcessView process) {}

    /** The use of a device, with the memory in bytes; null if the driver does not report it. */
    public record UsageView(int device, @Nullable Long usedBytes) {}
}
