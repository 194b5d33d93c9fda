package dev.genv.enforcer.node;

import dev.genv.enforcer.files.Errno;

/** Clock ticks since boot, the unit and the clock of a process's start time. */
final class KernelClock {
    private static final int CLOCK_REALTIME = 0;
    private static final int CLOCK_BOOTTIME = 7;

    private KernelClock() {}

    static long ticks() throws Errno {
        return Math.floorDiv(Libc.clock(CLOCK_BOOTTIME), Libc.nanosPerTick());
    }

    /**
     * When a file was changed. The kernel takes the times of files from a clock that lags by up to one tick, so it may come
     * out a tick late, and never early, unless the time of day was set meanwhile.
     *
     * @param timeOfDay in nanoseconds since the epoch
     */
    static long ticksAtFileTime(long timeOfDay) throws Errno {
        var ago = Libc.clock(CLOCK_REALTIME) - timeOfDay;
        return Math.floorDiv(Libc.clock(CLOCK_BOOTTIME) - ago, Libc.nanosPerTick()) + 1;
    }
}
