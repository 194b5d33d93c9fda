package dev.genv.enforcer.model;

import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A process that computes on at least one device.
 *
 * @param uid its real uid, a fact of the kernel; null where it is not known
 * @param command the short name ({@code /proc/PID/comm}), never its arguments
 * @param usage one entry a device, in the order of the devices
 * @param immunity why it is never ended; null where it can be
 */
public record GpuProcess(
        ProcessId id,
        @Nullable Long uid,
        String command,
        Membership membership,
        List<DeviceUsage> usage,
        @Nullable Immunity immunity) {

    /** One that nothing shields. */
    public GpuProcess(
            ProcessId id, @Nullable Long uid, String command, Membership membership, List<DeviceUsage> usage) {
        this(id, uid, command, membership, usage, null);
    }

    public GpuProcess {
        usage = usage.stream()
                .sorted(Comparator.comparingInt(DeviceUsage::device))
                .toList();
    }

    public GpuProcess with(Membership other) {
        return new GpuProcess(id, uid, command, other, usage, immunity);
    }

    public int pid() {
        return id.pid();
    }

    /** The indices of the devices it uses, ascending. */
    public List<Integer> devices() {
        return usage.stream().map(DeviceUsage::device).toList();
    }

    public boolean uses(int device) {
        for (var use : usage) { // it is asked for every process and every device
            if (use.device() == device) {
                return true;
            }
        }
        return false;
    }

    /** What it holds on that device: zero where it does not use it, null where the driver does not tell. */
    public @Nullable Memory memoryOn(int device) {
        for (var use : usage) {
            if (use.device() == device) {
                return use.memory();
            }
        }
        return Memory.ZERO;
    }

    /** Whether it names this environment. */
    public boolean names(String eid) {
        return membership instanceof Membership.InEnvironment(var own) && own.equals(eid);
    }
}
