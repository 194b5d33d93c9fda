package dev.genv.enforcer.model;

import dev.genv.enforcer.model.Membership.MembershipSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A process on at least one device.
 *
 * @param uid its real uid from the kernel; null if unknown
 * @param command the short name ({@code /proc/PID/comm}), never its arguments
 * @param membershipBy by what the membership was decided
 * @param usage one entry for each device, in the order of the devices
 * @param immunity why it is never terminated; null if it may be
 * @param workload what it belongs to besides. Null, as in the records of earlier versions, is not known
 * @param user whose it is by its real uid; null if no name is known, or if a container shows that the uid may be anybody's
 * @param owner the uid of the account whose it is: its real uid, or for a subordinate uid (subuid(5)) that of the user who has it; null if
 *     unknown, as in the records of earlier versions
 * @param rangeOwner the uid of the user in whose range of subordinate uids its real uid is, who may be its owner if that is unknown; null if
 *     it is in none, as in the records of earlier versions
 * @param excused the indices of its devices on which environments that list it excuse it ({@link Excuses}). It is no membership. Null, as in
 *     the records of earlier versions, is none
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
        @Nullable User user,
        @Nullable Long owner,
        @Nullable Long rangeOwner,
        @Nullable Set<Integer> excused) {

    /** Creates a process of its real uid with the membership that its environ names, in no container, that no environment excuses. */
    public GpuProcess(
            ProcessId id, @Nullable Long uid, String command, Membership membership, List<DeviceUsage> usage) {
        this(
                id,
                uid,
                command,
                membership,
                MembershipSource.ENVIRON,
                usage,
                null,
                Workload.NONE,
                null,
                uid,
                null,
                Set.of());
    }

    public GpuProcess {
        membershipBy = membership instanceof Membership.Unknown ? MembershipSource.UNKNOWN : membershipBy;
        usage = usage.stream()
                .sorted(Comparator.comparingInt(DeviceUsage::device))
                .toList();
        workload = Objects.requireNonNullElse(workload, Workload.UNKNOWN);
        excused = excused == null ? Set.of() : Set.copyOf(excused);
    }

    @Override
    public Workload workload() {
        return Objects.requireNonNull(workload);
    }

    public GpuProcess excusedOn(Set<Integer> devices) {
        return with(membership, membershipBy, user, devices);
    }

    public boolean isExcusedOn(int device) {
        return excused != null && excused.contains(device);
    }

    /** Returns its devices on which no environment excuses it. */
    public List<Integer> notExcused() {
        return devices().stream().filter(device -> !isExcusedOn(device)).toList();
    }

    public GpuProcess with(Membership other, MembershipSource by) {
        return with(other, by, user, excused);
    }

    public GpuProcess withUser(User other) {
        return with(membership, membershipBy, other, excused);
    }

    private GpuProcess with(Membership its, MembershipSource by, @Nullable User who, @Nullable Set<Integer> devices) {
        return new GpuProcess(id, uid, command, its, by, usage, immunity, workload, who, owner, rangeOwner, devices);
    }

    /**
     * Whether it is known whose it is. In a container of root, or if that is unknown, a uid may be anybody's, and only a subordinate one shows
     * it.
     */
    public boolean isPerson() {
        return owner != null && (inContainerOfRoot() == Ternary.NO || !owner.equals(uid));
    }

    /** Whether it is a person's whose name is not known. */
    public boolean isNameless() {
        return user == null && isPerson();
    }

    public int pid() {
        return id.pid();
    }

    public @Nullable String userName() {
        return user == null ? null : user.name;
    }

    /** Whether root put it into a container or a pod. */
    public Ternary inContainerOfRoot() {
        return workload().inContainerOfRoot();
    }

    /** Returns the uid of the account whose it is, or else its real uid; null if neither is known. */
    public @Nullable Long ownerOrUid() {
        return owner == null ? uid : owner;
    }

    /** Returns the name of its user, or else that uid; null if neither is known. */
    public @Nullable String userOrUid() {
        var number = ownerOrUid();
        return user != null || number == null ? userName() : number.toString();
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

    /** The id of the environment that it names, which may or may not exist; empty if it names none, or if that is unknown. */
    public Optional<String> environmentId() {
        return membership instanceof Membership.InEnvironment(var eid) ? Optional.of(eid) : Optional.empty();
    }

    /** Returns its environment among these, by their ids. */
    public Optional<Environment> environment(Map<String, Environment> environments) {
        return environmentId().map(environments::get);
    }

    public boolean names(String eid) {
        return membership instanceof Membership.InEnvironment(var own) && own.equals(eid);
    }

    /** Whether it is known that it is this user's. */
    public boolean isOf(long known) {
        return (uid != null && uid == known) || (owner != null && owner == known);
    }

    /** Whether the kernel proves that it is this user's: in a container of root a uid can be anybody's. */
    public boolean isProvenOf(long known) {
        return isOf(known)
                && (inContainerOfRoot() == Ternary.NO || (owner != null && owner == known && !owner.equals(uid)));
    }

    /** Whether the machine needs it. */
    public boolean isProtected() {
        return immunity != null && immunity.kind() == Immunity.Kind.PROTECTED;
    }

    /** Whether another allocator than genv runs it. */
    public Ternary isOfOtherAllocator() {
        return immunity == null || !immunity.isOfCgroup()
                ? Ternary.NO
                : Boolean.TRUE.equals(immunity.isCertain()) ? Ternary.YES : Ternary.UNKNOWN;
    }

    /** Whether no rule concerns it, because another allocator runs it, and not only until the policy changed. */
    public boolean isLeftAlone() {
        return isOfOtherAllocator() == Ternary.YES && immunity != null && !immunity.isOver();
    }

    /** A user by name. */
    public record User(String name, Source by) {
        /** Who says that a uid has this name. */
        public enum Source implements Labelled {
            /** The accounts of the host, which only root can write. */
            ACCOUNT,
            /** The environments of genv that record this uid and are not disputed. It is a claim of the user. */
            RECORDED
        }
    }

    /**
     * Why a process is never terminated, decided by facts of the kernel.
     *
     * @param reason a clause for reports, such as {@code it runs /usr/bin/nvidia-persistenced}
     * @param isCertain not if what decides it could not be read. Null, as in the records of earlier versions, is certain
     */
    public record Immunity(
            Kind kind, String reason, @Nullable Boolean isCertain) {
        public Immunity {
            isCertain = isCertain == null || isCertain;
        }

        public Immunity(Kind kind, String reason) {
            this(kind, reason, true);
        }

        /** Whether it ended with a change of the policy: the user is warned, and the process stays immune for a while. */
        public boolean isOver() {
            return kind == Kind.EXEMPT_BEFORE || kind == Kind.EXEMPT_CGROUP_BEFORE;
        }

        boolean isOfCgroup() {
            return kind == Kind.EXEMPT_CGROUP || kind == Kind.EXEMPT_CGROUP_BEFORE;
        }

        public enum Kind {
            /** The machine needs the process: a GPU or display server, a kernel thread, the service itself. */
            PROTECTED,
            /** The process belongs to an exempt user. */
            EXEMPT,
            /** The process belongs to a user who was exempt until the policy changed, a moment ago. */
            EXEMPT_BEFORE,
            /** It is unknown whether the process belongs to an exempt user. */
            PERHAPS_EXEMPT,
            /** Another allocator runs the process, so no rule concerns it; or perhaps it does. */
            EXEMPT_CGROUP,
            /** Another allocator runs the process, and its cgroup was exempt until the policy changed, a moment ago. */
            EXEMPT_CGROUP_BEFORE
        }
    }

    /**
     * The use of one device by one process.
     *
     * @param memory the used memory; null if the driver does not report it
     */
    public record DeviceUsage(int device, @Nullable Memory memory) {
        /** Returns the sum; unknown if one of them is unknown. */
        public DeviceUsage plus(DeviceUsage other) {
            return new DeviceUsage(device, memory == null || other.memory == null ? null : memory.plus(other.memory));
        }
    }

    /**
     * What a process belongs to, as its cgroup shows it. Rules use only whether root put it into a container; the rest informs people. Only
     * what root created counts: what lies below a cgroup that a user may manage is a claim of the user.
     *
     * @param cgroup its path, of several hierarchies the first that is not the root; null if unknown
     * @param isWhole whether there is no other container or pod than the given one; otherwise its cgroup was not read to the end.
     *     Null, as in the records of earlier versions, is not known
     */
    public record Workload(
            @Nullable String cgroup,
            @Nullable Container container,
            @Nullable Pod pod,
            @Nullable SlurmJob slurmJob,
            @Nullable Boolean isWhole) {
        /** That of a process in no container, pod and job. */
        public static final Workload NONE = new Workload(null, null, null, null, true);
        /** That of a process whose cgroup was not read. */
        public static final Workload UNKNOWN = new Workload(null, null, null, null, false);

        public Workload {
            isWhole = isWhole != null && isWhole;
        }

        /** Creates the workload of a process whose cgroup is known. */
        public Workload(
                @Nullable String cgroup,
                @Nullable Container container,
                @Nullable Pod pod,
                @Nullable SlurmJob slurmJob) {
            this(cgroup, container, pod, slurmJob, true);
        }

        /**
         * Whether root put the process into a container or a pod. Its uid can be any number there, also that of a user who has nothing to do
         * with it. A container of a user's own engine has only uids of that user.
         */
        public Ternary inContainerOfRoot() {
            if (pod != null || container != null) {
                return Ternary.YES;
            }
            return Boolean.TRUE.equals(isWhole) ? Ternary.NO : Ternary.UNKNOWN;
        }

        /**
         * A container.
         *
         * @param id 64 hexadecimal digits; the name of a container of LXC
         */
        public record Container(String id) {}

        /** A pod of Kubernetes. Its uid is as the API server shows it or, for a static pod, the hash of its manifest. */
        public record Pod(String uid) {}

        /** A job of Slurm, by its number. */
        public record SlurmJob(String id) {}
    }
}
