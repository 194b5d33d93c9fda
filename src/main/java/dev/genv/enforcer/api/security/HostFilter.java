package dev.genv.enforcer.api.security;

import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpVersion;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.util.regex.Pattern;

/**
 * Refuses requests that a foreign web page sends through a user's browser. Health is exempt, because a probe may use any
 * host name.
 */
@Singleton
public class HostFilter {
    /** So a foreign page does not learn whether there is a token. */
    private static final int BEFORE_THE_TOKEN = 2000;

    /** A request target with an authority, which takes the place of Host. Vert.x finds the path in the same way. */
    private static final Pattern ABSOLUTE_FORM = Pattern.compile("(?!/).*?://(?<authority>[^/]*).*", Pattern.DOTALL);

    private final AllowedHosts hosts;

    HostFilter(AllowedHosts hosts) {
        this.hosts = hosts;
    }

    void register(@Observes Filters filters) {
        filters.register(this::check, BEFORE_THE_TOKEN);
    }

    void register(@Observes ManagementInterface management) {
        management.router().route().order(-BEFORE_THE_TOKEN).handler(this::check);
    }

    private void check(RoutingContext request) {
        var headers = request.request().headers();
        var named = headers.getAll(HttpHeaders.HOST);
        var nameless = named.isEmpty() && request.request().version() == HttpVersion.HTTP_1_0; // which no browser sends
        var host = named.size() == 1 ? named.getFirst() : "";
        var target = ABSOLUTE_FORM.matcher(request.request().uri());
        var requested = target.matches() ? target.group("authority") : host;
        if (HealthPath.matches(request)) {
            request.next();
        } else if (named.size() != 1 && !nameless) {
            HttpErrors.send(request, 400, "expected one Host header");
        } else if ((!nameless && !hosts.allowsHost(host)) || (target.matches() && !hosts.allowsHost(requested))) {
            HttpErrors.send(request, 421, "this host is not allowed; add it to GENV_ENFORCER_HTTP_ALLOWED_HOSTS");
        } else if (!headers.getAll(HttpHeaders.ORIGIN).stream()
                .allMatch(origin -> hosts.allowsOrigin(origin, requested))) {
            HttpErrors.send(
                    request, 403, "this origin is not allowed; add its host to GENV_ENFORCER_HTTP_ALLOWED_HOSTS");
        } else {
            request.next();
        }
    }

    /** The path of the health checks, which need neither token nor host name. */
    static final class HealthPath {
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
}
