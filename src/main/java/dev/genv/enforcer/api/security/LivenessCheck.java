package dev.genv.enforcer.api.security;

import dev.genv.enforcer.enforcement.CycleSchedule;
import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.GpuLossDetector;
import dev.genv.enforcer.model.SafeText;
import java.util.Optional;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Liveness;

/**
 * Liveness: cycles end in time by the monotonic clock, and the container has access to the GPUs. Otherwise the platform should
 * restart the container.
 */
@Liveness
public class LivenessCheck implements HealthCheck {
    private static final int LONGEST_REASON = 1000;
    private final Enforcer enforcer;
    private final CycleSchedule cycleSchedule;
    private final GpuLossDetector gpus;

    LivenessCheck(Enforcer enforcer, CycleSchedule cycleSchedule, GpuLossDetector gpus) {
        this.enforcer = enforcer;
        this.cycleSchedule = cycleSchedule;
        this.gpus = gpus;
    }

    @Override
    public HealthCheckResponse call() {
        var since = enforcer.sinceLatest();
        var answer = HealthCheckResponse.named("cycles").withData("seconds_since_last_cycle", since.toSeconds());
        var reason = cycleSchedule.isStalled(since)
                ? Optional.of("no cycle has ended for %d seconds".formatted(since.toSeconds()))
                : gpus.reason().map(why -> SafeText.escape(why, LONGEST_REASON));
        reason.ifPresent(why -> answer.withData("reason", why));
        return answer.status(reason.isEmpty()).build();
    }
}
