package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.LostGpus;
import dev.genv.enforcer.enforcement.Pace;
import dev.genv.enforcer.policy.Words;
import java.util.Optional;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Liveness;

/**
 * Alive as long as cycles come to their end, by a clock that nobody can set, and as long as this container can reach the
 * GPUs. Whoever asks is expected to start it anew where it is not.
 */
@Liveness
public class Live implements HealthCheck {
    private static final int LONGEST_REASON = 1000;
    private final Enforcer enforcer;
    private final Pace pace;
    private final LostGpus gpus;

    Live(Enforcer enforcer, Pace pace, LostGpus gpus) {
        this.enforcer = enforcer;
        this.pace = pace;
        this.gpus = gpus;
    }

    @Override
    public HealthCheckResponse call() {
        var since = enforcer.sinceLatest();
        var answer = HealthCheckResponse.named("cycles").withData("seconds_since_last_cycle", since.toSeconds());
        var reason = pace.isStalled(since)
                ? Optional.of("no cycle has ended for %d seconds".formatted(since.toSeconds()))
                : gpus.reason().map(why -> Words.safe(why, LONGEST_REASON));
        reason.ifPresent(why -> answer.withData("reason", why));
        return answer.status(reason.isEmpty()).build();
    }
}
