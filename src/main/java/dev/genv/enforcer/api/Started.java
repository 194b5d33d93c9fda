package dev.genv.enforcer.api;

import dev.genv.enforcer.enforcement.Enforcer;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Startup;

/** Started once a cycle has come to its end, whatever it saw. */
@Startup
public class Started implements HealthCheck {
    private final Enforcer enforcer;

    Started(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @Override
    public HealthCheckResponse call() {
        return HealthCheckResponse.named("first cycle")
                .status(enforcer.latest().isPresent())
                .build();
    }
}
