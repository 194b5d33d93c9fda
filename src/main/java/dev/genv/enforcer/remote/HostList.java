package dev.genv.enforcer.remote;

import dev.genv.enforcer.model.SafeText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Parses lists of machines. A repeated name counts once, with its first entry. */
public final class HostList {
    static final int MAX_LINES = 100_000;
    private static final int MAX_ERRORS = 5;
    private static final int LONGEST_QUOTE = 80;

    private HostList() {}

    /**
     * Parses a list such as {@code gpu-1,raz@gpu-2:2222}.
     *
     * @throws IllegalArgumentException if an entry is not an address
     */
    public static List<HostAddress> parse(String text) {
        return once(Stream.of(text.split(",")).filter(each -> !each.isBlank()).map(each -> address(each.strip())));
    }

    /**
     * Parses a file with one machine on each line and comments after {@code #}.
     *
     * @throws IllegalArgumentException naming the invalid lines
     */
    static List<HostAddress> parseLines(String text) {
        var hosts = new ArrayList<HostAddress>();
        var errors = new ArrayList<String>();
        var lines = text.split("\\R", MAX_LINES + 2);
        if (lines.length > MAX_LINES + 1 || (lines.length > MAX_LINES && !lines[MAX_LINES].isEmpty())) {
            throw new IllegalArgumentException("more than " + MAX_LINES + " lines");
        }
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
            return HostAddress.parse(text);
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
}
