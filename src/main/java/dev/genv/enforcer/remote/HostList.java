package dev.genv.enforcer.remote;

import dev.genv.enforcer.policy.Words;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;

/** Reads lists of hosts. A name that comes again counts once, as it came first. */
public final class HostList {
    static final int MOST_LINES = 100_000;
    private static final int MOST_COMPLAINTS = 5;
    private static final int LONGEST_QUOTE = 80;

    private HostList() {}

    /**
     * Reads {@code gpu-1,raz@gpu-2:2222}.
     *
     * @throws IllegalArgumentException where one of them is not the address of a host
     */
    public static List<HostAddress> parse(String text) {
        var hosts = new ArrayList<HostAddress>();
        for (var each : text.split(",", -1)) {
            if (!each.isBlank()) {
                hosts.add(address(each.strip()));
            }
        }
        return once(hosts);
    }

    /**
     * Reads a host a line, with {@code #} before comments.
     *
     * @throws IllegalArgumentException naming the lines that are wrong
     */
    static List<HostAddress> parseLines(String text) {
        var hosts = new ArrayList<HostAddress>();
        var complaints = new ArrayList<String>();
        var lines = text.split("\\R", MOST_LINES + 2);
        if (lines.length > MOST_LINES + 1 || (lines.length > MOST_LINES && !lines[MOST_LINES].isEmpty())) {
            throw new IllegalArgumentException("more than " + MOST_LINES + " lines");
        }
        for (var number = 1; number <= lines.length && complaints.size() < MOST_COMPLAINTS; number++) {
            var line = lines[number - 1].split("#", 2)[0].strip();
            try {
                if (!line.isEmpty()) {
                    hosts.add(address(line));
                }
            } catch (IllegalArgumentException e) {
                complaints.add("line " + number + ": " + e.getMessage());
            }
        }
        if (!complaints.isEmpty()) {
            throw new IllegalArgumentException(String.join("; ", complaints));
        }
        return once(hosts);
    }

    private static HostAddress address(String text) {
        try {
            return HostAddress.parse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("\"" + Words.safe(text, LONGEST_QUOTE) + "\" is " + e.getMessage(), e);
        }
    }

    private static List<HostAddress> once(Collection<HostAddress> hosts) {
        var byName = new LinkedHashMap<String, HostAddress>();
        hosts.forEach(each -> byName.putIfAbsent(each.toString().toLowerCase(Locale.ROOT), each));
        return List.copyOf(byName.values());
    }
}
