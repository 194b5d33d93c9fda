package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.DeviceUsage;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.GpuProcess.User;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.ProcessId.HostProcess;
import dev.genv.enforcer.model.SubordinateUids;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;

/** Builds a GPU process; by default of raz (uid 1000), in no environment and on no device. */
public final class GpuProcessBuilder {
    private static final long START = 991_232;

    private final int pid;
    private final List<DeviceUsage> usage = new ArrayList<>();
    private long start = START;
    private Long uid = 1000L;
    private Immunity immunity;
    private Workload workload = Workload.NONE;
    private User user;
    private final Set<Integer> excused = new HashSet<>();
    private Membership membership = new Membership.Outside();
    /** By the real uid and the ranges of the machine. */
    private BiFunction<SubordinateUids, Long, Long> owner =
            (ranges, its) -> its == null ? null : Long.valueOf(ranges.ownerOf(its));

    private GpuProcessBuilder(int pid) {
        this.pid = pid;
    }

    public static GpuProcessBuilder process(int pid) {
        return new GpuProcessBuilder(pid);
    }

    /** Returns the id of a process with this pid and the default start time. */
    public static HostProcess id(String host, int pid) {
        return new HostProcess(host, new ProcessId(pid, START));
    }

    /** It started this number of ticks later than the default. */
    public GpuProcessBuilder startedLaterBy(long ticks) {
        start = START + ticks;
        return this;
    }

    public GpuProcessBuilder uid(long number) {
        uid = number;
        return this;
    }

    public GpuProcessBuilder uidUnknown() {
        uid = null;
        return this;
    }

    /** It is in the first user namespace, in which no uid is a subordinate one. */
    public GpuProcessBuilder ofItsUid() {
        owner = (_, its) -> its;
        return this;
    }

    /** It is unknown whether its uid is a subordinate one. */
    public GpuProcessBuilder ownerUnknown() {
        owner = (_, _) -> null;
        return this;
    }

    public GpuProcessBuilder immune(Immunity.Kind kind, String reason) {
        return immune(new Immunity(kind, reason));
    }

    public GpuProcessBuilder immune(Immunity its) {
        immunity = its;
        return this;
    }

    public GpuProcessBuilder inEnvironment(String eid) {
        membership = new Membership.InEnvironment(eid);
        return this;
    }

    public GpuProcessBuilder membership(Membership its) {
        membership = its;
        return this;
    }

    /** The service may not read its environment. */
    public GpuProcessBuilder unreadable() {
        membership = Membership.NOT_PERMITTED;
        return this;
    }

    /** An environment that lists it holds this device. */
    public GpuProcessBuilder excusedOn(int device) {
        excused.add(device);
        return this;
    }

    public GpuProcessBuilder uses(int... devices) {
        for (var device : devices) {
            uses(device, "100mi");
        }
        return this;
    }

    public GpuProcessBuilder uses(int device, String memory) {
        usage.add(new DeviceUsage(device, Memory.parse(memory).orElseThrow()));
        return this;
    }

    public GpuProcessBuilder usesUnknown(int device) {
        usage.add(new DeviceUsage(device, null));
        return this;
    }

    public GpuProcessBuilder workload(Workload what) {
        workload = what;
        return this;
    }

    public GpuProcessBuilder account(String name) {
        user = new User(name, User.Source.ACCOUNT);
        return this;
    }

    public GpuProcessBuilder recorded(String name) {
        user = new User(name, User.Source.RECORDED);
        return this;
    }

    public GpuProcess build() {
        return build(SubordinateUids.NONE);
    }

    GpuProcess build(SubordinateUids subordinateUids) {
        return new GpuProcess(
                new ProcessId(pid, start),
                uid,
                "python",
                membership,
                MembershipSource.ENVIRON,
                usage,
                immunity,
                workload,
                user,
                owner.apply(subordinateUids, uid),
                subordinateUids.rangeOwnerOf(uid),
                excused);
    }
}
