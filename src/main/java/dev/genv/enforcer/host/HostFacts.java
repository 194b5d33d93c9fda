package dev.genv.enforcer.host;

import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.StateFacts.FileId;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The facts of one machine at about one moment. The order in which they are gathered matters: state, protected programs, answers of the GPU
 * tool, processes on GPUs and their ancestors, state again, processes that the state lists. So the environment of a process that was just
 * started is never missing from the state, and a user who changes the state only while the GPU tool runs changes nothing.
 *
 * @param programs in the order in which they were asked for
 * @param processes those that the GPU tool lists, in any order
 * @param ancestors the ancestors of those of {@code processes} that name no environment, or whose environ is not as
 *     execve(2) wrote it: up to the first one of another real uid, at most {@value #MOST_STEPS}; each once, in any order, and none of the
 *     others
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
        List<ProcessFacts> ancestors,
        @Nullable StateFacts earlierState,
        StateFacts state,
        LivenessFacts liveness,
        EnforcerFacts enforcers,
        List<VerifiedProcess> verified) {
    /** The longest chain of ancestors. */
    public static final int MOST_STEPS = 64;
    /** The largest number of ancestors. One that is missing is unknown. */
    public static final int MOST_ANCESTORS = 512;

    /** A process with {@code /proc/PID/stat}; {@link Reading.Failure#ABSENT} if there is none. */
    public record VerifiedProcess(int pid, Reading<Bytes> stat) {}

    /**
     * A text is empty if its file cannot be read.
     *
     * @param machineId {@code /etc/machine-id}
     * @param bootId {@code /proc/sys/kernel/random/boot_id}
     * @param driver the first line of {@code /proc/driver/nvidia/version}
     * @param cgroupRoot the path in the first cgroup namespace of the cgroup that paths of cgroups begin at
     * @param beforeListing a time directly before the GPU tool was asked, in clock ticks since boot
     * @param beforeState a time directly before the state was read, in clock ticks since boot
     */
    public record MachineFacts(
            String machineId,
            String bootId,
            String driver,
            Reading<String> cgroupRoot,
            long beforeListing,
            long beforeState) {
        /** Whether it is known that the machine was started anew since it had this boot id. */
        public boolean isAnotherBoot(String earlier) {
            return !bootId.isEmpty() && !bootId.equals(earlier);
        }
    }

    /**
     * What the process that gathers the facts may do.
     *
     * @param pid its own
     * @param capabilities the effective ones, as bits of {@code linux/capability.h}; 0 if unknown
     * @param pidNamespace the target of {@code /proc/self/ns/pid}; empty if unknown
     * @param securityLabel {@code /proc/self/attr/current}, such as AppArmor's profile; empty if there is none
     * @param stateIsWritable true also if there is no state directory, or if it was not examined
     */
    public record AccessFacts(
            int pid, long capabilities, String pidNamespace, String securityLabel, boolean stateIsWritable) {
        /** PROC_PID_INIT_INO of linux/proc_ns.h: the inode of the first PID namespace, fixed in the kernel. */
        public static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

        /** Bits of the capabilities. */
        public static final int CAP_DAC_OVERRIDE = 1;

        public static final int CAP_DAC_READ_SEARCH = 2;
        public static final int CAP_KILL = 5;
        public static final int CAP_SYS_PTRACE = 19;

        /** Whether this capability is known to be there. */
        public boolean has(int capability) {
            return has(capabilities, capability);
        }

        public static boolean has(long capabilities, int capability) {
            return (capabilities >>> capability & 1) == 1;
        }
    }

    /**
     * {@code /etc/passwd}, passwd(5), {@code /etc/subuid}, subuid(5), and what the name service of the machine (NSS) answers.
     *
     * @param asked the names and uids for which it was asked: {@link ObservationRequest#accounts}, and uids that this observation shows
     * @param named a line as in passwd(5) for each of them that it finds; {@link Reading.Failure#SKIPPED} if it was not asked;
     *     {@link Reading.Failure#ABSENT} if only another name service can be asked, such as that of a container
     * @param configured the uid of each of {@link ObservationRequest#users}, in the same order; {@link Reading.Failure#ABSENT} if there is no
     *     such user, {@link Reading.Failure#SKIPPED} if only another name service can be asked, {@link Reading.Failure#NO_TIME} if no time
     *     was left to ask
     * @param groups the number of each of {@link ObservationRequest#groups} likewise, by group(5) if only another name service can be asked
     * @param memberships the numbers of all groups of each of {@link ObservationRequest#members} likewise, the primary one among them;
     *     {@link Reading.Failure#ABSENT} if there is no such user
     */
    public record AccountFacts(
            Reading<TextFile> passwd,
            Reading<TextFile> subuid,
            List<String> asked,
            Reading<Bytes> named,
            List<Reading<Long>> configured,
            List<Reading<Long>> groups,
            List<Reading<List<Long>>> memberships) {
        public static final Reading<Bytes> NOT_ASKED = Reading.failed(Reading.Failure.SKIPPED, "");

        /**
         * A file.
         *
         * @param version differs after every change
         * @param content null if the recipient already has this version
         */
        public record TextFile(String version, @Nullable Bytes content) {}
    }

    /**
     * The answers of nvidia-smi to the queries of {@code GpuQuery}. The reason of a failure is a whole sentence such as {@code nvidia-smi did
     * not exit within 5000 ms}; it may be empty for a timeout, and if the program was not run because it hung before.
     *
     * @param devices any failure if the other query failed; at most a minute older than {@code processes}
     * @param devicesAreCurrent whether it is not older
     * @param status {@link #NOT_ASKED} if nothing needs the answer
     */
    public record GpuFacts(
            Reading<ToolOutput> processes,
            Reading<ToolOutput> devices,
            boolean devicesAreCurrent,
            Reading<ToolOutput> status) {
        public static final Reading<ToolOutput> NOT_ASKED = Reading.failed(Reading.Failure.SKIPPED, "");

        public GpuFacts(Reading<ToolOutput> processes, Reading<ToolOutput> devices) {
            this(processes, devices, true, NOT_ASKED);
        }

        public GpuFacts withStatus(Reading<ToolOutput> answer) {
            return new GpuFacts(processes, devices, devicesAreCurrent, answer);
        }

        /** Each text has at most 16 MiB. */
        public record ToolOutput(int exitCode, Bytes stdout, Bytes stderr) {}
    }

    /**
     * Which of the processes that {@code envs.json} lists exist.
     *
     * @param processes at least those whose pid the file contains
     */
    public record LivenessFacts(Reading<List<LiveProcess>> processes, Kernels kernels) {
        /**
         * A process that exists, even as a zombie.
         *
         * @param uid its real uid; null if unknown
         */
        public record LiveProcess(int pid, @Nullable Long uid) {}

        /**
         * The Jupyter kernels that run.
         *
         * @param files the names of the connection files, such as {@code kernel-0b5eb0d4.json}, in which arguments of processes end; at
         *     least those that {@code envs.json} names
         * @param unsearched which processes were not searched and why, as a clause; empty if all were, or if none had to be
         */
        public record Kernels(Set<String> files, String unsearched) {
            public static final Kernels NONE = new Kernels(Set.of(), "");
        }
    }

    /**
     * Whether this enforcer may act.
     *
     * @param other the enforcer that acts on the state directory instead; null if this one may act
     * @param unusable why the lock of the enforcers cannot be used, as a clause; empty if it can
     */
    public record EnforcerFacts(@Nullable Other other, String unusable) {
        public static final EnforcerFacts NONE = new EnforcerFacts(null, "");

        public sealed interface Other {
            /** The pid is 0 if unknown. */
            record OnMachine(int pid) implements Other {}

            /** Over SSH: it acted some time ago, and others may act again after the rest of its lease, both in seconds. */
            record Leased(long secondsAgo, long secondsLeft) implements Other {}
        }
    }

    /**
     * A process. All parts belong to the same one only if both stats have the same start time. Environ, executable and parent may be those of
     * an earlier observation, if the process has run the same program and has had the same parent since then.
     *
     * @param before {@code /proc/PID/stat} before the other parts were read; {@link Reading.Failure#ABSENT} if there is no such process
     * @param uid the real uid
     * @param environ that of another thread, with its stats, if the first one has exited; {@link Reading.Failure#SKIPPED} also for an ancestor
     *     of no process of the same real uid that has overwritten its own
     * @param executable {@link Reading.Failure#UNTRUSTED} if another user than root can change the file, or if its file system does not show
     *     it; {@link Reading.Failure#SKIPPED} for an ancestor
     * @param cgroup at most {@value #LARGEST_CGROUP} bytes of {@code /proc/PID/cgroup}; {@link Reading.Failure#SKIPPED} for an
     *     ancestor, and if the answer would be too long
     * @param namespacePids {@code NSpid} of {@code /proc/PID/status}: the pids in its PID namespaces, the innermost one last
     * @param parent that of {@code before}; {@link Reading.Failure#SKIPPED} for an ancestor
     * @param uidMap {@code /proc/PID/uid_map}; {@link Reading.Failure#SKIPPED} for an ancestor
     * @param after {@code /proc/PID/stat} after the other parts were read
     */
    public record ProcessFacts(
            int pid,
            Reading<Bytes> before,
            Reading<Long> uid,
            Reading<EnvironFacts> environ,
            Reading<ProgramFile> executable,
            Reading<Bytes> cgroup,
            Reading<Bytes> namespacePids,
            Reading<ParentFacts> parent,
            Reading<Bytes> uidMap,
            Reading<Bytes> after) {
        public static final int LARGEST_CGROUP = 4096;

        /** Creates the facts of a process whose parent and user namespace were not asked for. */
        public ProcessFacts(
                int pid,
                Reading<Bytes> before,
                Reading<Long> uid,
                Reading<EnvironFacts> environ,
                Reading<ProgramFile> executable,
                Reading<Bytes> cgroup,
                Reading<Bytes> namespacePids,
                Reading<Bytes> after) {
            this(pid, before, uid, environ, executable, cgroup, namespacePids, skipped(), skipped(), after);
        }

        /** Creates the facts of a process whose cgroup and namespaces are unknown. */
        public ProcessFacts(
                int pid,
                Reading<Bytes> before,
                Reading<Long> uid,
                Reading<EnvironFacts> environ,
                Reading<ProgramFile> executable,
                Reading<Bytes> after) {
            this(pid, before, uid, environ, executable, skipped(), skipped(), after);
        }

        /** Returns the facts of a process of which only the stat is known. */
        public static ProcessFacts unread(int pid, Reading<Bytes> stat) {
            return new ProcessFacts(pid, stat, absent(), absent(), absent(), stat);
        }

        private static <T> Reading<T> absent() {
            return Reading.failed(Reading.Failure.ABSENT, "");
        }

        public static <T> Reading<T> skipped() {
            return Reading.failed(Reading.Failure.SKIPPED, "");
        }

        /**
         * The part of an environ that concerns the service.
         *
         * @param size the number of bytes that were read in all; 0 also while a process exits or is in execve
         * @param id the value of the last {@code GENV_ENVIRONMENT_ID}, at most {@value #LONGEST_ID} bytes of it; empty if there is none
         * @param digest the SHA-256 of a longer value in hexadecimal; otherwise empty
         * @param wellFormed whether it is empty, or no title that extends from the arguments into it, and every string of it is a name that
         *     is not empty, an equals sign and a value, and the last one ends with a zero byte
         * @param thread the stats of the thread whose environ it is; null if it is the first one
         */
        public record EnvironFacts(
                long size,
                Bytes id,
                String digest,
                boolean wellFormed,
                @Nullable ThreadStats thread) {
            /** Creates the facts of an environ that was read from the first thread. */
            public EnvironFacts(long size, Bytes id, String digest, boolean wellFormed) {
                this(size, id, digest, wellFormed, null);
            }

            /** genv's own ids are pids and the ids of Jupyter kernels. */
            public static final int LONGEST_ID = 4096;

            /** {@code /proc/PID/task/TID/stat} before and after the environ of that thread was read. */
            public record ThreadStats(Bytes before, Bytes after) {}
        }

        /**
         * The parent of a process. It was that of the process only if this one has the same parent before and after.
         *
         * @param uid the real uid
         * @param executable as that of the process; {@link Reading.Failure#SKIPPED} unless the real uid is 0
         */
        public record ParentFacts(int pid, Reading<Long> uid, Reading<ProgramFile> executable) {}

        /**
         * The file of a program that only root can change.
         *
         * @param born its creation time in nanoseconds, which no user can set, and which differs for a later file with the same number; 0 if
         *     the file system does not record it
         */
        public record ProgramFile(FileId id, long born) {}
    }
}
