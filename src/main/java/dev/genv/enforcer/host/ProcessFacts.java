package dev.genv.enforcer.host;

import dev.genv.enforcer.host.StateFacts.FileId;

/**
 * A process that the GPU tool lists, or one that is related to it. All parts belong to the same process only if both stats have the same
 * start time.
 *
 * @param before the content of {@code /proc/PID/stat} before the other parts were read; {@link Reading.Failure#ABSENT} if there is no
 *     such process
 * @param uid the real uid
 * @param environ the environment of the process or, if its first thread has exited, as another thread has it
 * @param executable the program that it runs; {@link Reading.Failure#UNTRUSTED} if another user than root can change it, or if its file
 *     system does not show it; {@link Reading.Failure#SKIPPED} for a related process
 * @param cgroup the content of {@code /proc/PID/cgroup}, at most {@value #LARGEST_CGROUP} bytes; {@link Reading.Failure#SKIPPED} if it
 *     is known from an earlier observation and no relations were asked for
 * @param namespacePids the value of {@code NSpid} in {@code /proc/PID/status}: its pids in the PID namespaces, the innermost one last;
 *     {@link Reading.Failure#SKIPPED} unless it is a related process, or one whose relations were asked for
 * @param after the content of {@code /proc/PID/stat} after the other parts were read
 */
public record ProcessFacts(
        int pid,
        Reading<Bytes> before,
        Reading<Long> uid,
        Reading<EnvironFacts> environ,
        Reading<ProgramFile> executable,
        Reading<Bytes> cgroup,
        Reading<Bytes> namespacePids,
        Reading<Bytes> after) {
    public static final int LARGEST_CGROUP = 4096;

    /** Creates the facts of a process whose cgroup and relations were not asked for. */
    public ProcessFacts(
            int pid,
            Reading<Bytes> before,
            Reading<Long> uid,
            Reading<EnvironFacts> environ,
            Reading<ProgramFile> executable,
            Reading<Bytes> after) {
        this(pid, before, uid, environ, executable, skipped(), skipped(), after);
    }

    public static <T> Reading<T> skipped() {
        return Reading.failed(Reading.Failure.SKIPPED, "");
    }

    /**
     * The part of an environ that concerns the service.
     *
     * @param size the number of bytes that were read in all; 0 also while a process exits or is in execve
     * @param id the value of the last {@code GENV_ENVIRONMENT_ID}, of a longer one only the first {@value #LONGEST_ID} bytes; empty if
     *     there is none
     * @param digest the SHA-256 of the whole value in hexadecimal, if it is longer; otherwise empty
     * @param wellFormed whether it is no title that extends from the arguments into it, and every string of it is a name that is not empty, an equals sign, and a value, and the last one ends with a
     *     zero byte; true if it is empty
     * @param slurmJob the value of the last {@code SLURM_JOB_ID}; empty if there is none, or if it is longer than {@value #LONGEST_JOB}
     *     bytes and therefore no number of a job
     */
    public record EnvironFacts(long size, Bytes id, String digest, boolean wellFormed, Bytes slurmJob) {
        /** genv's own ids are pids and the ids of Jupyter kernels. */
        public static final int LONGEST_ID = 4096;

        public static final int LONGEST_JOB = 16;
    }

    /**
     * The file of a program that only root can change.
     *
     * @param born its creation time, in nanoseconds, which no user can set; 0 if the file system does not record it. It differs
     *     for a later file with the same number.
     */
    public record ProgramFile(FileId id, long born) {}
}
