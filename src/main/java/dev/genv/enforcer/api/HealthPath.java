package dev.genv.enforcer.api;

import io.vertx.ext.web.RoutingContext;
import java.util.regex.Pattern;

/** The path of the health checks, which need neither token nor host name. */
final class HealthPath {
    /**
     * Health and below, in characters that no router rewrites: it may take a path with dots, escapes or two slashes for
     * another one.
     */
    private static final Pattern HEALTH = Pattern.compile("/q/health(/[A-Za-z0-9-]+)*/?");

    private HealthPath() {}

    static boolean matches(RoutingContext request) {
        var path = request.request().path();
        return path != null && HEALTH.matcher(path).matches();
    }
}
