package dev.genv.enforcer.enforcement;

import java.time.Duration;

/**
 * The clock of everything that counts towards an action: grace periods, the time until SIGKILL, the age of what is remembered.
 * It counts at most a fixed time for each cycle. So no period ends while the service stands still, whether it was stopped,
 * its machine was suspended, or an observation took minutes: no user could see or correct anything meanwhile.
 */
final class CycleClock {
    private static final int INTERVALS = 2;

    private final Ticker real;
    private final long mostPerCycle;
    private long counted;
    private long cycleBegan;

    /**
     * Starts it.
     *
     * @param interval from one cycle to the next
     */
    CycleClock(Ticker real, Duration interval) {
        this.real = real;
        mostPerCycle = interval.multipliedBy(INTERVALS).toNanos();
        cycleBegan = real.mark();
    }

    /** A cycle begins: what the one before did not use up is lost. */
    synchronized void beginCycle() {
        counted = nanos();
        cycleBegan = real.mark();
    }

    /** The same clock as a ticker; its time of day is the real one. */
    Ticker ticker() {
        return new Ticker(real.wall(), this::nanos);
    }

    private synchronized long nanos() {
        return counted + Math.min(real.mark() - cycleBegan, mostPerCycle);
    }
}
