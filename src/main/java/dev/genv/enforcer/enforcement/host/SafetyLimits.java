package dev.genv.enforcer.enforcement.host;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The grace period and limits of actions.
 *
 * @param grace how long a violation must have been observed before the service acts on it; zero to act at once, as genv does
 * @param killAfter how long after SIGTERM a process that still breaks a rule gets SIGKILL; null for never
 * @param compliancePeriod how long a signalled process must break no rule before the signal is forgotten
 * @param maxTerminations the largest number of processes of a host that are terminated in one cycle; 0 for no limit
 */
public record SafetyLimits(
        Duration grace, @Nullable Duration killAfter, Duration compliancePeriod, int maxTerminations) {
    public static final Duration DEFAULT_COMPLIANCE_PERIOD = Duration.ofSeconds(60);

    private static final Duration WITHOUT_SIGKILL = Duration.ofSeconds(60);

    public SafetyLimits(Duration grace, @Nullable Duration killAfter, int mostTerminations) {
        this(grace, killAfter, DEFAULT_COMPLIANCE_PERIOD, mostTerminations);
    }

    /** No limits: the service acts at once and signals once. */
    public static final SafetyLimits NONE = new SafetyLimits(Duration.ZERO, null, 0);

    /** For how long a signal counts before the next one. Without SIGKILL a process that was perhaps signalled may get SIGTERM then. */
    public Duration timeAfterSignal() {
        return Objects.requireNonNullElse(killAfter, WITHOUT_SIGKILL);
    }
}
