package dev.genv.enforcer.model;

import java.util.Comparator;

/**
 * The identity of a process: its start time distinguishes it from all other processes with the same pid since the boot.
 *
 * @param pid the pid in the machine's first PID namespace
 * @param startTime when it was started, in clock ticks since boot (field 22 of {@code /proc/PID/stat}); 0 if that is unknown
 */
public record ProcessId(int pid, long startTime) implements Comparable<ProcessId> {
    private static final Comparator<ProcessId> ORDER =
            Comparator.comparingInt(ProcessId::pid).thenComparingLong(ProcessId::startTime);

    @Override
    public int compareTo(ProcessId other) {
        return ORDER.compare(this, other);
    }

    /** A process on a machine of the fleet. */
    public record HostProcess(String host, ProcessId id) implements Comparable<HostProcess> {
        private static final Comparator<HostProcess> ORDER =
                Comparator.comparing(HostProcess::host).thenComparing(HostProcess::id);

        @Override
        public int compareTo(HostProcess other) {
            return ORDER.compare(this, other);
        }
    }
}
