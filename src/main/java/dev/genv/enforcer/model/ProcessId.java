package dev.genv.enforcer.model;

import java.util.Comparator;

/**
 * A process, told apart from every other process that ever had its pid on that machine since it was booted.
 *
 * @param pid the pid in the machine's first PID namespace
 * @param startTime when it was started, in clock ticks since boot (field 22 of {@code /proc/PID/stat}); where nobody knows
 *     that, which look had it first, as far as there were several, or 0
 */
public record ProcessId(int pid, long startTime) implements Comparable<ProcessId> {
    private static final Comparator<ProcessId> ORDER =
            Comparator.comparingInt(ProcessId::pid).thenComparingLong(ProcessId::startTime);

    @Override
    public int compareTo(ProcessId other) {
        return ORDER.compare(this, other);
    }
}
