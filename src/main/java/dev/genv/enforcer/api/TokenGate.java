package dev.genv.enforcer.api;

import dev.genv.enforcer.model.Sha256;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.regex.Pattern;

/**
 * Where a token is set, answers nobody who does not show it. Whoever only asks how the service is need not: a probe has
 * no token.
 */
@Singleton
public class TokenGate {
    /** Before everything else, also before what is there for paths that do not exist. */
    private static final int FIRST = 1000;

    private static final Pattern BEARER = Pattern.compile("(?i:bearer) +([!-~]+) *");

    private final ApiToken token;

    TokenGate(ApiToken token) {
        this.token = token;
    }

    void stand(@Observes Filters filters) {
        if (token.isRequired()) {
            filters.register(this::check, FIRST);
        }
    }

    void stand(@Observes ManagementInterface management) {
        if (token.isRequired()) {
            management.router().route().order(-FIRST).handler(this::check);
        }
    }

    private void check(RoutingContext request) {
        if (HealthPath.matches(request)) {
            request.next();
            return;
        }
        var expected = token.current();
        if (expected.isEmpty()) {
            Refusal.send(request, 503, "the token cannot be read; the log says why");
        } else if (shows(request, expected.get())) {
            request.next();
        } else {
            request.response().putHeader("WWW-Authenticate", "Bearer");
            Refusal.send(request, 401, "this wants the header Authorization: Bearer, with the token");
        }
    }

    /** In a time that tells nothing about the token. */
    private static boolean shows(RoutingContext request, String expected) {
        var headers = request.request().headers().getAll(HttpHeaders.AUTHORIZATION);
        var bearer = BEARER.matcher(headers.size() == 1 ? headers.getFirst() : "");
        return bearer.matches() && MessageDigest.isEqual(sha256(bearer.group(1)), sha256(expected));
    }

    private static byte[] sha256(String text) {
        return Sha256.digest(text.getBytes(StandardCharsets.US_ASCII));
    }
}
