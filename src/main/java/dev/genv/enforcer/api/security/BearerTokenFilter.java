package dev.genv.enforcer.api.security;

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

/** Refuses requests without the configured token. Health checks need none, because a probe has no token. */
@Singleton
public class BearerTokenFilter {
    /** Runs before all other handlers, also for paths that do not exist. */
    private static final int FIRST = 1000;

    private static final Pattern BEARER = Pattern.compile("(?i:bearer) +([!-~]+) *");

    private final ApiToken token;

    BearerTokenFilter(ApiToken token) {
        this.token = token;
    }

    void register(@Observes Filters filters) {
        if (token.isRequired()) {
            filters.register(this::check, FIRST);
        }
    }

    void register(@Observes ManagementInterface management) {
        if (token.isRequired()) {
            management.router().route().order(-FIRST).handler(this::check);
        }
    }

    private void check(RoutingContext request) {
        if (HostFilter.isHealth(request)) {
            request.next();
            return;
        }
        var expected = token.current();
        if (expected.isEmpty()) {
            HttpErrors.send(request, 503, "the token cannot be read; the log shows the reason");
        } else if (hasToken(request, expected.get())) {
            request.next();
        } else {
            request.response().putHeader("WWW-Authenticate", "Bearer");
            HttpErrors.send(request, 401, "expected the header Authorization: Bearer with the token");
        }
    }

    /** Compares in a time that does not depend on the token. */
    private static boolean hasToken(RoutingContext request, String expected) {
        var headers = request.request().headers().getAll(HttpHeaders.AUTHORIZATION);
        var bearer = BEARER.matcher(headers.size() == 1 ? headers.getFirst() : "");
        return bearer.matches() && MessageDigest.isEqual(sha256(bearer.group(1)), sha256(expected));
    }

    private static byte[] sha256(String text) {
        return Sha256.digest(text.getBytes(StandardCharsets.US_ASCII));
    }
}
