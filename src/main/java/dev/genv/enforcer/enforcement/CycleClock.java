package dev.genv.enforcer.enforcement;

import java.time.Duration;

/**
 * The clock of everything that counts towards an action: grace periods, the time until SIGKILL, the age of what is remembered.
 * It counts at most a fixed time from the end of one complete cycle to the end of the next. So no period ends while the service
 * stands still, whether it was stopped, its machine was suspended, an observation took minutes, or cycles broke off: no user
 * could see or correct anything meanwhile.
 */
final class CycleClock {
    private static final int INTERVALS = 2;

    private final Ticker real;
    private final long mostPerCycle;
    private long counted;
    private long cycleEnded;

    /**
     * Starts it.
     *
     * @param interval from one cycle to the next
     */
    CycleClock(Ticker real, Duration interval) {
        this.real = real;
        mostPerCycle = interval.multipliedBy(INTERVALS).toNanos();
        cycleEnded = real.mark();
    }

    /** A cycle observed the hosts and recorded what it observed. What it did not use up is lost. */
    synchronized void endCycle() {
        counted = nanos();
        cycleEnded = real.mark();
    }

    /** The same clock as a ticker; its time of day is the real one. */
    Ticker ticker() {
        return new Ticker(real.wall(), this::nanos);
    }

    private synchronized long nanos() {
        return counted + Math.min(real.mark() - cycleEnded, mostPerCycle);
    }
}
