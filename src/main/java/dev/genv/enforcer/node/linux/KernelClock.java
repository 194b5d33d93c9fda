package dev.genv.enforcer.node.linux;

import dev.genv.enforcer.files.Errno;

/** Clock ticks since boot, the unit and clock of a process's start time. */
public final class KernelClock {
    private static final int CLOCK_REALTIME = 0;
    private static final int CLOCK_BOOTTIME = 7;

    private KernelClock() {}

    public static long ticks() throws Errno {
        return Math.floorDiv(Libc.clock(CLOCK_BOOTTIME), Libc.nanosPerTick());
    }

    /**
     * Returns when a file was changed. The kernel's clock for file times lags by up to one tick. So the result may be one tick late and
     * is never early, unless the wall clock was set in between.
     *
     * @param timeOfDay in nanoseconds since the epoch
     */
    public static long ticksAtFileTime(long timeOfDay) throws Errno {
        var ago = Libc.clock(CLOCK_REALTIME) - timeOfDay;
        return Math.floorDiv(Libc.clock(CLOCK_BOOTTIME) - ago, Libc.nanosPerTick()) + 1;
    }
}
