package dev.genv.enforcer.api.security;

import dev.genv.enforcer.enforcement.Enforcer;
import org.eclipse.microprofile.health.HealthCheck;
import org.eclipse.microprofile.health.HealthCheckResponse;
import org.eclipse.microprofile.health.Startup;

/** Startup: a cycle has ended, with any result. */
@Startup
public class StartupCheck implements HealthCheck {
    private final Enforcer enforcer;

    StartupCheck(Enforcer enforcer) {
        this.enforcer = enforcer;
    }

    @Override
    public HealthCheckResponse call() {
        return HealthCheckResponse.named("first cycle")
                .status(enforcer.latest().isPresent())
                .build();
    }
}
