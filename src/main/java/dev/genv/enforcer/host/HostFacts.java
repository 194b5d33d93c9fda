package dev.genv.enforcer.host;

import dev.genv.enforcer.host.ProcessFacts.ProgramFile;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The facts of one machine at about one moment. These are gathered in this order: the protected programs, the state files, the answers of
 * the GPU tool, the processes that it lists, those that hold GPUs without being listed, the state files again, the processes that the state files list. So the environment of a process that was
 * just started is never missing from the state, and a user who changes the state only while the GPU tool runs changes nothing. The others, such as {@code access}, are gathered before or after.
 *
 * @param programs the protected programs, in the order in which they were asked for
 * @param processes the processes that the GPU tool lists, in any order
 * @param related processes of the same real uid to which a listed process or a holder is related whose environ is not as execve(2) wrote it: its
 *     ancestors, its session leader, the members of its process group and of its session, and the processes of its cgroup; each once, in
 *     any order, and none of {@code processes} and {@code holders}
 * @param relatedOmission of which users some of them were left out
 * @param holders the processes that hold device files of GPUs, and that the GPU tool does not list
 * @param earlierState the state before the GPU tool was asked; null if it was the same
 * @param verified the processes whose exit the service waits for
 */
public record HostFacts(
        MachineFacts machine,
        AccessFacts access,
        AccountFacts accounts,
        List<Reading<ProgramFile>> programs,
        GpuFacts gpu,
        List<ProcessFacts> processes,
        List<ProcessFacts> related,
        RelatedOmission relatedOmission,
        HolderFacts holders,
        @Nullable StateFacts earlierState,
        StateFacts state,
        LivenessFacts liveness,
        EnforcerFacts enforcers,
        List<VerifiedProcess> verified) {
    /** The largest number of related processes. */
    public static final int MOST_RELATED = 512;

    /** Returns the processes that the GPU tool lists, and those that hold GPUs without being listed. */
    public List<ProcessFacts> allProcesses() {
        return Stream.concat(processes.stream(), holders.holders().stream().map(HolderFacts.Holder::process))
                .toList();
    }

    /**
     * A process whose exit the service waits for.
     *
     * @param stat the content of {@code /proc/PID/stat}; {@link Reading.Failure#ABSENT} if there is no such process
     */
    public record VerifiedProcess(int pid, Reading<Bytes> stat) {}

    /**
     * The machine itself.
     *
     * @param machineId the content of {@code /etc/machine-id}; empty if there is none
     * @param bootId the content of {@code /proc/sys/kernel/random/boot_id}; empty if it cannot be read
     * @param driver the first line of {@code /proc/driver/nvidia/version}; empty if the driver is not loaded
     * @param beforeListing a time directly before the GPU tool was asked, in clock ticks since boot
     * @param beforeState a time directly before the state was read, in clock ticks since boot
     */
    public record MachineFacts(String machineId, String bootId, String driver, long beforeListing, long beforeState) {}

    /**
     * What the process that gathers the facts may do on the machine.
     *
     * @param pid its own pid
     * @param capabilities its effective capabilities, as bits of {@code linux/capability.h}; 0 if unknown
     * @param pidNamespace the target of {@code /proc/self/ns/pid}; empty if unknown
     * @param securityLabel the label that a security module such as AppArmor gave it; empty if there is none
     * @param stateIsWritable whether it may write in the state directory; true if there is no such directory, or if it was not
     *     examined
     */
    public record AccessFacts(
            int pid, long capabilities, String pidNamespace, String securityLabel, boolean stateIsWritable) {}

    /**
     * The users of whose related processes some were left out. Only processes of the same real uid are related, so one user's many processes
     * say nothing about the completeness of those of another.
     *
     * @param ofAnyUser whether they may be of any user, for example because the time was used up
     * @param uids otherwise the real uids of the users
     */
    public record RelatedOmission(boolean ofAnyUser, Set<Long> uids) {
        public static final RelatedOmission NONE = new RelatedOmission(false, Set.of());
        public static final RelatedOmission OF_ANY_USER = new RelatedOmission(true, Set.of());

        public RelatedOmission {
            uids = Set.copyOf(uids);
        }

        /** Whether processes of this real uid may have been left out. */
        public boolean mayConcern(long uid) {
            return ofAnyUser || uids.contains(uid);
        }
    }
}
