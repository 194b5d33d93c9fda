package dev.genv.enforcer.model;

import dev.genv.enforcer.model.Membership.MembershipSource;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A process on at least one device.
 *
 * @param uid its real uid from the kernel; null if unknown
 * @param command the short name ({@code /proc/PID/comm}), never its arguments
 * @param membershipBy by what the membership was decided
 * @param usage one entry for each device, in the order of the devices
 * @param immunity why it is never terminated; null if it may be
 * @param workload what it belongs to besides; null if nothing is known. No rule uses it
 * @param account the account of its real uid on its host; null if there is none, or if a container shows that the uid may be anybody's
 */
public record GpuProcess(
        ProcessId id,
        @Nullable Long uid,
        String command,
        Membership membership,
        MembershipSource membershipBy,
        List<DeviceUsage> usage,
        @Nullable Immunity immunity,
        @Nullable Workload workload,
        @Nullable String account) {

    /** Creates a process with the membership that its environ names. */
    public GpuProcess(
            ProcessId id,
            @Nullable Long uid,
            String command,
            Membership membership,
            List<DeviceUsage> usage,
            @Nullable Immunity immunity) {
        this(id, uid, command, membership, MembershipSource.ENVIRON, usage, immunity, null, null);
    }

    public GpuProcess(
            ProcessId id, @Nullable Long uid, String command, Membership membership, List<DeviceUsage> usage) {
        this(id, uid, command, membership, usage, null);
    }

    public GpuProcess {
        membershipBy = membership instanceof Membership.Unknown ? MembershipSource.UNKNOWN : membershipBy;
        usage = usage.stream()
                .sorted(Comparator.comparingInt(DeviceUsage::device))
                .toList();
    }

    public GpuProcess with(Membership other) {
        return with(other, membershipBy);
    }

    public GpuProcess with(Membership other, MembershipSource by) {
        return new GpuProcess(id, uid, command, other, by, usage, immunity, workload, account);
    }

    public GpuProcess withUsage(List<DeviceUsage> other) {
        return new GpuProcess(id, uid, command, membership, membershipBy, other, immunity, workload, account);
    }

    public GpuProcess withoutWorkload() {
        return workload == null
                ? this
                : new GpuProcess(id, uid, command, membership, membershipBy, usage, immunity, null, account);
    }

    public int pid() {
        return id.pid();
    }

    /** Returns the indices of its devices, ascending. */
    public List<Integer> devices() {
        return usage.stream().map(DeviceUsage::device).toList();
    }

    public boolean uses(int device) {
        for (var use : usage) { // called for every process and every device
            if (use.device() == device) {
                return true;
            }
        }
        return false;
    }

    /** Returns its memory on a device: zero if it does not use the device, null if the driver does not report it. */
    public @Nullable Memory memoryOn(int device) {
        for (var use : usage) {
            if (use.device() == device) {
                return use.memory();
            }
        }
        return Memory.ZERO;
    }

    public boolean names(String eid) {
        return membership instanceof Membership.InEnvironment(var own) && own.equals(eid);
    }

    /**
     * Why a process is never terminated, decided by facts of the kernel.
     *
     * @param reason a clause for reports, such as {@code it runs /usr/bin/nvidia-persistenced}
     */
    public record Immunity(Kind kind, String reason) {

        public enum Kind {
            /** The machine needs the process: a GPU or display server, a kernel thread, the service itself. */
            PROTECTED,
            /** The process belongs to an exempt user. */
            EXEMPT
        }
    }
}
