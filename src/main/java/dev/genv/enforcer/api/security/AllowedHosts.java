package dev.genv.enforcer.api.security;

import java.net.InetAddress;
import java.util.Collection;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The host names by which a client may address the service. A browser that a foreign page sends here (DNS rebinding) names that
 * page's host. It cannot name an address, so addresses are always allowed.
 */
public final class AllowedHosts {
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

    /** Returns the name if it is valid; otherwise throws an exception with the expected form. */
    public static String requireName(String name) {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("expected host names without ports, such as gpu-1.example.org,enforcer");
        }
        return name;
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
