package dev.genv.enforcer.enforcement.action;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The grace periods and limits of actions.
 *
 * @param gracePeriod how long a violation must last before the service acts on it
 * @param stateChangeGrace the same for a violation that exists only because the state was changed while a process ran
 * @param killAfter how long after SIGTERM a process that still breaks a rule gets SIGKILL; null for never
 * @param compliancePeriod how long a signalled process must break no rule before the signal is forgotten
 * @param maxTerminations the largest number of processes of a host that are terminated in one cycle; 0 for no limit
 */
public record SafetyLimits(
        Duration gracePeriod,
        Duration stateChangeGrace,
        @Nullable Duration killAfter,
        Duration compliancePeriod,
        int maxTerminations) {
    /** The default of the compliance period. */
    public static final Duration DEFAULT_COMPLIANCE_PERIOD = Duration.ofSeconds(60);

    /** Limits with the default compliance period. */
    public SafetyLimits(
            Duration gracePeriod, Duration stateChangeGrace, @Nullable Duration killAfter, int mostTerminations) {
        this(gracePeriod, stateChangeGrace, killAfter, DEFAULT_COMPLIANCE_PERIOD, mostTerminations);
    }

    /** No limits: the service acts at once and signals once. */
    public static final SafetyLimits NONE = new SafetyLimits(Duration.ZERO, Duration.ZERO, null, 0);
}
