package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.machine.Order;
import dev.genv.enforcer.files.ErrorText;
import dev.genv.enforcer.node.device.DeviceHolders;
import dev.genv.enforcer.node.device.NvidiaDevices;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;

/** Requires that a process uses a device file of the driver, where nothing else proves that it uses a GPU. */
final class DeviceCheck {
    private static final Result WITHOUT_DEVICE = Result.failed(
            "NVML lists it, but it has no device file of the NVIDIA driver open or mapped, so it is not terminated");
    private static final Result RELEASED =
            Result.failed("it is not listed, and no longer maps a device file of the GPU whose memory it may use");

    private final NvidiaDevices devices;
    private final DeviceHolders holders;
    private final Runnable doubt;

    /** @param doubt is run for each process that NVML lists and that cannot be shown to use a device */
    DeviceCheck(NvidiaDevices devices, DeviceHolders holders, Runnable doubt) {
        this.devices = devices;
        this.holders = holders;
        this.doubt = doubt;
    }

    /**
     * Returns why a process is not terminated; empty if it is shown to use a device. The call can take a second.
     *
     * @param listedByNvml whether only NVML says that a listed process uses a GPU: a pid of a library whose lists are laid out in another
     *     way would be any process
     */
    Optional<Result> refusal(Order.Terminate order, boolean listedByNvml) {
        var minors = order.expected().minors();
        if (minors != null) {
            return refusalOfUnlisted(order, minors);
        }
        return listedByNvml && devices.areUsed() ? refusalOfListed(order) : Optional.empty();
    }

    /** Records that a process, which still exists, is not terminated for this reason. */
    void recordRefusal(Order.Terminate order) {
        if (order.expected().minors() == null) {
            doubt.run();
        }
    }

    private Optional<Result> refusalOfListed(Order.Terminate order) {
        try {
            var uid = order.expected().uid();
            var usesDevice = devices.hasOpen(order.process().pid())
                    || (uid != null && holders.mapsOneOf(order.process(), uid, _ -> true));
            return usesDevice ? Optional.empty() : Optional.of(WITHOUT_DEVICE);
        } catch (IOException e) {
            return Optional.of(unexamined("NVML lists it", e));
        }
    }

    private Optional<Result> refusalOfUnlisted(Order.Terminate order, Set<Integer> minors) {
        var uid = order.expected().uid();
        try {
            return uid != null && holders.mapsOneOf(order.process(), uid, minors::contains)
                    ? Optional.empty()
                    : Optional.of(RELEASED);
        } catch (IOException e) {
            return Optional.of(unexamined("it is not listed", e));
        }
    }

    private static Result unexamined(String why, IOException e) {
        return Result.failed("%s, but its open files cannot be examined, so it is not terminated: %s"
                .formatted(why, ErrorText.of(e)));
    }
}
