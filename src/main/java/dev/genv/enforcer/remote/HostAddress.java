package dev.genv.enforcer.remote;

import dev.genv.enforcer.model.SafeText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
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
    private static final int MAX_ERRORS = 5;
    private static final int LONGEST_QUOTE = 80;
    private static final String EXPECTED_FORM = "; expected [user@]host[:port], such as raz@gpu-2:2222 or [::1]:22";

    // No user or name begins with a dash, because a message may show it in a command that an administrator copies.
    private static final Pattern USER = Pattern.compile("[\\p{Alnum}_.][\\p{Alnum}_.@$+\\\\-]{0,254}");
    private static final Pattern NAME = Pattern.compile("[\\p{Alnum}_.][\\p{Alnum}_.-]{0,254}");
    private static final Pattern IPV6 =
            Pattern.compile("[\\p{XDigit}:]{2,39}(%[\\p{Alnum}_.-]{1,32})?|::[fF]{4}:[\\d.]{7,15}");
    private static final Pattern PORT = Pattern.compile(":\\d{1,5}");

    /**
     * Parses {@code [user@]host[:port]}.
     *
     * @throws IllegalArgumentException if the text is no address, with the expected form
     */
    public static HostAddress parse(String text) {
        var at = text.lastIndexOf('@');
        var user = at < 0 ? null : text.substring(0, at);
        require(user == null || USER.matcher(user).matches(), "not a user name before the @");
        var rest = text.substring(at + 1);
        var isInBrackets = rest.startsWith("[");
        var colon = rest.indexOf(':');
        require(isInBrackets || colon == rest.lastIndexOf(':'), "an IPv6 address must be in brackets");
        var nameEnd = colon < 0 ? rest.length() : colon;
        var end = isInBrackets ? rest.indexOf(']') + 1 : nameEnd;
        var host = isInBrackets ? rest.substring(1, Math.max(1, end - 1)) : rest.substring(0, end);
        if (isInBrackets) {
            require(host.indexOf(':') >= 0 && IPV6.matcher(host).matches(), "not an IPv6 address in brackets");
        } else {
            require(NAME.matcher(host).matches(), host.isEmpty() ? "no name of a host" : "not the name of a host");
        }
        return new HostAddress(user, host, port(rest.substring(end)));
    }

    /**
     * Parses a list such as {@code gpu-1,raz@gpu-2:2222}. A repeated name counts once, with its first entry.
     *
     * @throws IllegalArgumentException if an entry is not an address
     */
    public static List<HostAddress> parseList(String text) {
        return once(Stream.of(text.split(",")).filter(each -> !each.isBlank()).map(each -> address(each.strip())));
    }

    /**
     * Parses a file with one machine on each line and comments after {@code #}. A repeated name counts once, as in a list.
     *
     * @throws IllegalArgumentException naming the invalid lines
     */
    static List<HostAddress> parseLines(String text) {
        var hosts = new ArrayList<HostAddress>();
        var errors = new ArrayList<String>();
        var lines = text.split("\\R", -1);
        for (var number = 1; number <= lines.length && errors.size() < MAX_ERRORS; number++) {
            var line = lines[number - 1].split("#", 2)[0].strip();
            try {
                if (!line.isEmpty()) {
                    hosts.add(address(line));
                }
            } catch (IllegalArgumentException e) {
                errors.add("line " + number + ": " + e.getMessage());
            }
        }
        if (!errors.isEmpty()) {
            throw new IllegalArgumentException(String.join("; ", errors));
        }
        return once(hosts.stream());
    }

    private static HostAddress address(String text) {
        try {
            return parse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "\"" + SafeText.escape(text, LONGEST_QUOTE) + "\" is " + e.getMessage(), e);
        }
    }

    private static List<HostAddress> once(Stream<HostAddress> hosts) {
        var byName = new LinkedHashMap<String, HostAddress>();
        hosts.forEach(each -> byName.putIfAbsent(each.toString().toLowerCase(Locale.ROOT), each));
        return List.copyOf(byName.values());
    }

    /** The name of the machine in reports: the text of the list without the user. */
    @Override
    public String toString() {
        var name = host.indexOf(':') < 0 ? host : "[" + host + "]";
        return port == null ? name : name + ":" + port;
    }

    private static @Nullable Integer port(String text) {
        if (text.isEmpty()) {
            return null;
        }
        var number = PORT.matcher(text).matches() ? Integer.parseInt(text.substring(1)) : 0;
        require(number >= 1 && number <= 65_535, "not a port from 1 to 65535");
        return number;
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise + EXPECTED_FORM);
        }
    }
}
