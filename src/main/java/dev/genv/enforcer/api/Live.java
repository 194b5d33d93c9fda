package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.Enforcer;
import dev.genv.enforcer.enforcement.Pace;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Liveness;

/** Alive as long as cycles come to their end. It goes by a clock that nobody can set. */
@Liveness
public class Live implements HealthCheck {
    private final Enforcer enforcer;
    private final Pace pace;

    Live(Enforcer enforcer, Pace pace) {
        this.enforcer = enforcer;
        this.pace = pace;
    }

    @Override
    public HealthCheckResponse call() {
        var since = enforcer.sinceLatest();
        var answer = HealthCheckResponse.named("cycles").withData("seconds_since_last_cycle", since.toSeconds());
        return pace.isStalled(since)
                ? answer.withData("reason", "no cycle has ended for %d seconds".formatted(since.toSeconds()))
                        .down()
                        .build()
                : answer.up().build();
    }
}
