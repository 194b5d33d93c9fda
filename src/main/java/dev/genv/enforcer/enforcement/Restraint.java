package dev.genv.enforcer.enforcement;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What holds the service back.
 *
 * @param gracePeriod how long a violation must have lasted before anything is done about it
 * @param stateChangeGrace the same, where it exists only because somebody changed the state under a process that runs
 * @param killAfter how long after its SIGTERM a process that still breaks a rule gets SIGKILL; null for never
 * @param compliancePeriod how long a process that was asked to end must break no rule before that is forgotten
 * @param mostTerminations how many processes of a host are asked to end in one cycle; 0 for any number
 */
public record Restraint(
        Duration gracePeriod,
        Duration stateChangeGrace,
        @Nullable Duration killAfter,
        Duration compliancePeriod,
        int mostTerminations) {
    /** If it is not set. */
    public static final Duration DEFAULT_COMPLIANCE_PERIOD = Duration.ofSeconds(60);

    /** With the usual compliance period. */
    public Restraint(
            Duration gracePeriod, Duration stateChangeGrace, @Nullable Duration killAfter, int mostTerminations) {
        this(gracePeriod, stateChangeGrace, killAfter, DEFAULT_COMPLIANCE_PERIOD, mostTerminations);
    }

    /** It does what the rules want, at once, and asks once. */
    public static final Restraint NONE = new Restraint(Duration.ZERO, Duration.ZERO, null, 0);
}
