package dev.genv.enforcer.api.security;

import dev.genv.enforcer.model.Sha256;
import io.quarkus.vertx.http.ManagementInterface;
import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpVersion;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Collection;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Refuses requests that a foreign web page sends through a user's browser, and requests without the configured token. Health is
 * exempt, because a probe may use any host name and has no token.
 */
@Singleton
public record AccessFilter(AllowedHosts hosts, ApiToken token) {
    /** Before the check of the token, so a foreign page does not learn whether there is one. */
    private static final int HOST = 2000;
    /** Before all other handlers, also for paths that do not exist. */
    private static final int TOKEN = 1000;

    /** A request target with an authority, which takes the place of Host. Vert.x finds the path in the same way. */
    private static final Pattern ABSOLUTE_FORM = Pattern.compile("(?!/).*?://(?<authority>[^/]*).*", Pattern.DOTALL);

    private static final Pattern BEARER = Pattern.compile("(?i:bearer) +([!-~]+) *");

    /** Health and below, without characters that a router rewrites: dots, escapes and double slashes may mean another path. */
    private static final Pattern HEALTH = Pattern.compile("/q/health(/[A-Za-z0-9-]+)*/?");

    void register(@Observes Filters filters) {
        filters.register(this::checkHost, HOST);
        if (token.isRequired()) {
            filters.register(this::checkToken, TOKEN);
        }
    }

    void register(@Observes ManagementInterface management) {
        management.router().route().order(-HOST).handler(this::checkHost);
        if (token.isRequired()) {
            management.router().route().order(-TOKEN).handler(this::checkToken);
        }
    }

    private void checkHost(RoutingContext request) {
        var headers = request.request().headers();
        var named = headers.getAll(HttpHeaders.HOST);
        var nameless = named.isEmpty() && request.request().version() == HttpVersion.HTTP_1_0; // which no browser sends
        var host = named.size() == 1 ? named.getFirst() : "";
        var target = ABSOLUTE_FORM.matcher(request.request().uri());
        var requested = target.matches() ? target.group("authority") : host;
        if (isHealth(request)) {
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

    private void checkToken(RoutingContext request) {
        if (isHealth(request)) {
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

    /** Whether it is a health check, which needs neither token nor host name. */
    public static boolean isHealth(RoutingContext request) {
        var path = request.request().path();
        return path != null && HEALTH.matcher(path).matches();
    }

    /**
     * The host names by which a client may address the service. A browser that a foreign page sends here (DNS rebinding) names that
     * page's host. It cannot name an address, so addresses are always allowed.
     */
    public static final class AllowedHosts {
        private static final Pattern AUTHORITY =
                Pattern.compile("(?<name>\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+?)\\.?(?::[0-9]{0,5})?");
        /** The form of an address. In others, such as 127.1, a client would look the host up. */
        private static final Pattern ADDRESS = Pattern.compile("\\[.*]|(0|[1-9][0-9]{0,2})(\\.(0|[1-9][0-9]{0,2})){3}");

        private static final Pattern ORIGIN = Pattern.compile("https?://(?<authority>[^/]*)");

        private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?");

        private final Set<String> names;

        /** Allows these DNS names, in any case, and {@code localhost}. */
        public AllowedHosts(Collection<String> names) {
            this.names = names.stream().map(AllowedHosts::lowerCase).collect(Collectors.toUnmodifiableSet());
        }

        public static boolean isName(String name) {
            return NAME.matcher(name).matches();
        }

        /** Whether a request to this host, with or without a port, may be answered. */
        boolean allowsHost(String host) {
            var name = name(host);
            return name.equals("localhost") || isAddress(name) || names.contains(name);
        }

        /** Whether a page of this {@code Origin} may send requests: one of this host and port itself, or of a configured host. */
        boolean allowsOrigin(String origin, String host) {
            var match = ORIGIN.matcher(origin);
            if (!match.matches()) {
                return false;
            }
            var authority = match.group("authority");
            return authority.equalsIgnoreCase(host) || names.contains(name(authority));
        }

        /** Returns the name without its port; empty if it is invalid. */
        private static String name(String authority) {
            var match = AUTHORITY.matcher(authority);
            return match.matches() ? lowerCase(match.group("name")) : "";
        }

        private static boolean isAddress(String name) {
            try {
                return ADDRESS.matcher(name).matches() && InetAddress.ofLiteral(name) != null;
            } catch (IllegalArgumentException e) {
                return false;
            }
        }

        private static String lowerCase(String name) {
            return name.toLowerCase(Locale.ROOT);
        }
    }
}
