package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.machine.Machine.Instruction;
import dev.genv.enforcer.files.Errno;
import dev.genv.enforcer.node.device.DeviceHolders;
import dev.genv.enforcer.node.device.NvidiaDevices;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;

/**
 * Requires that a process uses a device file of the driver: a listed pid can belong to a process that was started after the listed one has
 * exited.
 */
final class DeviceCheck {
    private static final Result WITHOUT_DEVICE = Result.failed(
            "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");
    private static final Result RELEASED =
            Result.failed("it is not listed, and no longer maps a device file of the GPU whose memory it may use");

    private final NvidiaDevices devices;
    private final DeviceHolders holders;

    DeviceCheck(NvidiaDevices devices, DeviceHolders holders) {
        this.devices = devices;
        this.holders = holders;
    }

    /** Returns why a process is not terminated; empty if it is shown to use a device. The call can take a second. */
    Optional<Result> refusal(Instruction.Terminate order) {
        var minors = order.expected().minors();
        if (minors != null) {
            return refusalOfUnlisted(order, minors);
        }
        return refusalOfListed(order);
    }

    private Optional<Result> refusalOfListed(Instruction.Terminate order) {
        try {
            // Without device files nothing can be checked. A process can close a file that it maps.
            var open = devices.areUsed() ? devices.open(order.process().pid()) : null;
            if (open == null || open.isProven()) {
                return Optional.empty();
            }
            var uid = order.expected().uid();
            var mapped = uid == null
                    ? new NvidiaDevices.Use(false, "its uid is unknown")
                    : holders.mapped(order.process(), uid);
            if (mapped.isProven()) {
                return Optional.empty();
            }
            var unexamined = open.unexamined().isEmpty() ? mapped.unexamined() : open.unexamined();
            return Optional.of(unexamined.isEmpty() ? WITHOUT_DEVICE : unexamined("it is listed", unexamined));
        } catch (IOException e) {
            return Optional.of(unexamined("it is listed", Errno.textOf(e)));
        }
    }

    private Optional<Result> refusalOfUnlisted(Instruction.Terminate order, Set<Integer> minors) {
        var uid = order.expected().uid();
        try {
            return uid != null && holders.mapsOneOf(order.process(), uid, minors::contains)
                    ? Optional.empty()
                    : Optional.of(RELEASED);
        } catch (IOException e) {
            return Optional.of(unexamined("it is not listed", Errno.textOf(e)));
        }
    }

    private static Result unexamined(String why, String reason) {
        return Result.failed(
                "%s, but its open files cannot be examined, so it is not terminated: %s".formatted(why, reason));
    }
}
