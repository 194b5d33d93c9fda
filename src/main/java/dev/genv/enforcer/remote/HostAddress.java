package dev.genv.enforcer.remote;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The address of a machine in the host list.
 *
 * @param user the user to log in as; null for the user of the settings
 * @param host a name, an alias of the SSH configuration, or an address (IPv6 without its brackets)
 * @param port null for the port of the SSH configuration, or else 22
 */
public record HostAddress(
        @Nullable String user, String host, @Nullable Integer port) {
    private static final String EXPECTED_FORM = "; expected [user@]host[:port], such as raz@gpu-2:2222 or [::1]:22";

    // No user or name begins with a dash, because a message may show it in a command that an administrator copies.
    private static final Pattern USER = Pattern.compile("[\\p{Alnum}_.][\\p{Alnum}_.@$+\\\\-]{0,254}");
    private static final Pattern NAME = Pattern.compile("[\\p{Alnum}_.][\\p{Alnum}_.-]{0,254}");
    private static final Pattern IPV6 =
            Pattern.compile("[\\p{XDigit}:]{2,39}(%[\\p{Alnum}_.-]{1,32})?|::[fF]{4}:[\\d.]{7,15}");
    private static final Pattern PORT = Pattern.compile("\\d{1,5}");

    /**
     * Parses {@code [user@]host[:port]}.
     *
     * @throws IllegalArgumentException if the text is no address, with the expected form
     */
    public static HostAddress parse(String text) {
        var at = text.lastIndexOf('@');
        var user = at < 0 ? null : text.substring(0, at);
        if (user != null && !USER.matcher(user).matches()) {
            throw new IllegalArgumentException("not a user name before the @" + EXPECTED_FORM);
        }
        var rest = text.substring(at + 1);
        var hostEnd = rest.startsWith("[") ? rest.indexOf(']') + 1 : endOfName(rest);
        var host = rest.startsWith("[") ? inBrackets(rest, hostEnd) : name(rest.substring(0, hostEnd));
        return new HostAddress(user, host, port(rest.substring(hostEnd)));
    }

    /** The name of the machine in reports: the text of the list without the user. */
    @Override
    public String toString() {
        var name = host.indexOf(':') < 0 ? host : "[" + host + "]";
        return port == null ? name : name + ":" + port;
    }

    private static int endOfName(String text) {
        var colon = text.indexOf(':');
        if (colon != text.lastIndexOf(':')) {
            throw new IllegalArgumentException("an IPv6 address must be in brackets" + EXPECTED_FORM);
        }
        return colon < 0 ? text.length() : colon;
    }

    private static String inBrackets(String text, int end) {
        var address = text.substring(1, Math.max(1, end - 1));
        if (address.indexOf(':') < 0 || !IPV6.matcher(address).matches()) {
            throw new IllegalArgumentException("not an IPv6 address in brackets" + EXPECTED_FORM);
        }
        return address;
    }

    private static String name(String text) {
        if (!NAME.matcher(text).matches()) {
            throw new IllegalArgumentException(
                    (text.isEmpty() ? "no name of a host" : "not the name of a host") + EXPECTED_FORM);
        }
        return text;
    }

    private static @Nullable Integer port(String text) {
        if (text.isEmpty()) {
            return null;
        }
        var number = text.startsWith(":") && PORT.matcher(text.substring(1)).matches()
                ? Integer.parseInt(text.substring(1))
                : 0;
        if (number < 1 || number > 65_535) {
            throw new IllegalArgumentException("not a port from 1 to 65535" + EXPECTED_FORM);
        }
        return number;
    }
}
