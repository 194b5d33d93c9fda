package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Machine.Instruction;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.node.gpu.DeviceHolders;
import dev.genv.enforcer.node.gpu.NvidiaDevices;
import java.io.IOException;
import java.util.Optional;

/**
 * Requires that a process uses a device file of the driver: a listed pid can belong to a process that was started after the listed one has
 * exited.
 */
final class DeviceCheck {
    private static final Result WITHOUT_DEVICE = Result.failed(
            "it is listed, but has no device file of the NVIDIA driver open or mapped, so it is not terminated");

    private final NvidiaDevices devices;
    private final DeviceHolders holders;

    DeviceCheck(NvidiaDevices devices, DeviceHolders holders) {
        this.devices = devices;
        this.holders = holders;
    }

    /** Returns why a process is not terminated; empty if it is shown to use a device. The call can take a second. */
    Optional<Result> refusal(Instruction.Terminate order) {
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
            return Optional.of(unexamined.isEmpty() ? WITHOUT_DEVICE : unexamined(unexamined));
        } catch (IOException e) {
            return Optional.of(unexamined(Errno.textOf(e)));
        }
    }

    private static Result unexamined(String reason) {
        return Result.failed("it is listed, but its open files cannot be examined, so it is not terminated: " + reason);
    }
}
