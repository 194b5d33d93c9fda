package dev.genv.enforcer.node.linux;

import dev.genv.enforcer.files.Errno;

/** Clock ticks since boot, the unit and clock of a process's start time. */
public final class KernelClock {
    private static final int CLOCK_BOOTTIME = 7;

    private KernelClock() {}

    public static long ticks() throws Errno {
        return Math.floorDiv(Libc.clock(CLOCK_BOOTTIME), Libc.nanosPerTick());
    }
}
