package dev.genv.enforcer.model;

import java.util.Comparator;

/** A process on a machine of the fleet. */
public record HostProcess(String host, ProcessId id) implements Comparable<HostProcess> {
    private static final Comparator<HostProcess> ORDER =
            Comparator.comparing(HostProcess::host).thenComparing(HostProcess::id);

    @Override
    public int compareTo(HostProcess other) {
        return ORDER.compare(this, other);
    }
}
