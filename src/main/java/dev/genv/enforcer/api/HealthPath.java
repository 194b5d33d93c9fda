package dev.genv.enforcer.api;

import io.vertx.ext.web.RoutingContext;
import java.util.regex.Pattern;

/** The path of the health checks, which answer everybody. */
final class HealthPath {
    /**
     * Health and below, in letters that mean the same to everybody: a path with dots, escapes or two slashes might be
     * another one to whoever answers it.
     */
    private static final Pattern HEALTH = Pattern.compile("/q/health(/[A-Za-z0-9-]+)*/?");

    private HealthPath() {}

    static boolean matches(RoutingContext request) {
        var path = request.request().path();
        return path != null && HEALTH.matcher(path).matches();
    }
}
