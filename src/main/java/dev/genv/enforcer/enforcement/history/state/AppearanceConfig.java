package dev.genv.enforcer.enforcement.history.state;

import java.time.Duration;

/**
 * What decides which attachments of a user are the newest.
 *
 * @param recentPeriod how long an attachment counts as new after it appeared; time during which it was not observed does not count
 * @param trustsRecordedTimes whether the recorded times, which every user can write, decide the age of those that the first
 *     observation found
 */
public record AppearanceConfig(Duration recentPeriod, boolean trustsRecordedTimes) {
    /** The shortest time for which an attachment counts as new. */
    private static final Duration MIN_RECENT_PERIOD = Duration.ofHours(1);

    private static final int CYCLES = 3;

    /**
     * Returns what follows from the settings.
     *
     * @param stateChangeGrace an attachment counts as new for longer, because one that no longer does gets no grace
     * @param interval from one cycle to the next
     */
    public static AppearanceConfig of(Duration stateChangeGrace, Duration interval) {
        var graceAndCycles = stateChangeGrace.plus(interval.multipliedBy(CYCLES));
        return new AppearanceConfig(
                graceAndCycles.compareTo(MIN_RECENT_PERIOD) > 0 ? graceAndCycles : MIN_RECENT_PERIOD,
                stateChangeGrace.isZero());
    }
}
