package dev.genv.enforcer.api.security;

import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.util.Map;

/**
 * Adds headers to every response, errors included, with which a browser runs only the page's own scripts and talks only to this
 * service. Responses of the API have them too, in case a browser shows one.
 */
@Singleton
public class SecurityHeaders {
    /** Before the first filter that can answer. */
    private static final int FIRST = 3000;

    private static final String CONTENT_SECURITY_POLICY =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none';"
                    + " form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

    private static final Map<String, String> HEADERS = Map.of(
            "Content-Security-Policy", CONTENT_SECURITY_POLICY,
            "X-Content-Type-Options", "nosniff",
            "Referrer-Policy", "no-referrer",
            "Cross-Origin-Opener-Policy", "same-origin",
            "Cross-Origin-Resource-Policy", "same-origin");

    void register(@Observes Filters filters) {
        filters.register(SecurityHeaders::add, FIRST);
    }

    private static void add(RoutingContext request) {
        HEADERS.forEach(request.response()::putHeader);
        request.next();
    }
}
