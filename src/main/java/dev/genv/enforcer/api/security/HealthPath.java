package dev.genv.enforcer.api.security;

import io.vertx.ext.web.RoutingContext;
import java.util.regex.Pattern;

/** The path of the health checks, which need neither token nor host name. */
final class HealthPath {
    /**
     * Health and below, without characters that a router rewrites: dots, escapes and double slashes may mean another path.
     */
    private static final Pattern HEALTH = Pattern.compile("/q/health(/[A-Za-z0-9-]+)*/?");

    private HealthPath() {}

    static boolean matches(RoutingContext request) {
        var path = request.request().path();
        return path != null && HEALTH.matcher(path).matches();
    }
}
