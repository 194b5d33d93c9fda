package dev.genv.enforcer.enforcement.host;

import java.time.Duration;

/**
 * The clock of everything that counts towards an action: grace periods, the time until SIGKILL, the age of history. It counts at
 * most a fixed time from the end of one complete cycle to the end of the next. So no grace period passes while the service is
 * stopped, its machine is suspended, an observation takes minutes, or cycles fail, because users see no report during that time.
 */
public final class CycleClock {
    private static final int INTERVALS = 2;

    private final Ticker real;
    private final long mostPerCycle;
    private long counted;
    private long cycleEnded;
    private boolean standsStill;

    public CycleClock(Ticker real, Duration interval) {
        this.real = real;
        mostPerCycle = interval.multipliedBy(INTERVALS).toNanos();
        cycleEnded = real.mark();
    }

    /**
     * Continues the clock of an earlier run, in nanoseconds. It stands still until the first cycle has ended, because nothing was reported
     * while the service did not run.
     */
    public synchronized void continueFrom(long earlier) {
        counted = earlier;
        standsStill = true;
    }

    /** Ends a cycle that recorded its observation: time that it did not use is lost. */
    public synchronized void endCycle() {
        counted = nanos();
        cycleEnded = real.mark();
        standsStill = false;
    }

    /** Returns this clock as a ticker; its time of day is the real one. */
    public Ticker ticker() {
        return new Ticker(real.wall(), this::nanos);
    }

    private synchronized long nanos() {
        return standsStill ? counted : counted + Math.min(real.mark() - cycleEnded, mostPerCycle);
    }
}
