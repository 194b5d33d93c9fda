package dev.genv.enforcer.remote.ssh;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An OpenSSH client configuration: sections of keywords for the hosts that match. JSch's own parser is not used: a repeated
 * {@code Host} overwrites the section before it, the lines under {@code Match} are added to the section before them, and it obeys
 * keywords that the service does not support.
 */
record SshConfig(List<Line> lines) {
    static final SshConfig EMPTY = new SshConfig(List.of());

    // These sections may apply to any host, so a configuration with one of them is refused.
    private static final Set<String> UNSUPPORTED = Set.of("match", "include");
    private static final Pattern KEYWORD = Pattern.compile("(\\w+)(?:\\s*=\\s*|\\s+|$)(.*)");
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|([^\\s\"]+)");

    /**
     * Parses a configuration.
     *
     * @throws IllegalArgumentException naming the line that cannot be parsed
     */
    static SshConfig parse(String text) {
        var parsed = new ArrayList<Line>();
        var hosts = List.of("*");
        var lines = text.split("\\R", -1);
        for (var number = 1; number <= lines.length; number++) {
            var line = lines[number - 1].strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            var keyword = KEYWORD.matcher(line);
            require(keyword.matches(), number, " is not a keyword and its value");
            var key = keyword.group(1).toLowerCase(Locale.ROOT);
            require(!UNSUPPORTED.contains(key), number, ": " + keyword.group(1) + " is not understood here");
            var words = words(keyword.group(2));
            require(!words.isEmpty(), number, ": " + keyword.group(1) + " has no value");
            if (key.equals("host")) {
                hosts = words;
            } else {
                parsed.add(new Line(hosts, key, words));
            }
        }
        return new SshConfig(parsed);
    }

    private static void require(boolean holds, int number, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException("line " + number + otherwise);
        }
    }

    private static List<String> words(String text) {
        return WORD.matcher(text)
                .results()
                .takeWhile(word -> word.group(1) != null || !word.group(2).startsWith("#"))
                .map(word -> word.group(word.group(1) == null ? 2 : 1))
                .toList();
    }

    /** Returns the first value of a keyword for a host. */
    @Nullable
    String first(String host, String keyword) {
        return values(host, keyword).findFirst().map(List::getFirst).orElse(null);
    }

    /** Returns all values on the first line with a keyword for a host. */
    List<String> firstLine(String host, String keyword) {
        return values(host, keyword).findFirst().orElse(List.of());
    }

    /** Returns the first value of each line with a keyword for a host. */
    List<String> all(String host, String keyword) {
        return values(host, keyword).map(List::getFirst).distinct().toList();
    }

    private Stream<List<String>> values(String host, String keyword) {
        return lines.stream()
                .filter(line -> line.key.equalsIgnoreCase(keyword) && line.holdsFor(host))
                .map(Line::words);
    }

    /**
     * A line with a keyword.
     *
     * @param hosts the patterns of its section
     */
    record Line(List<String> hosts, String key, List<String> words) {
        boolean holdsFor(String host) {
            return hosts.stream().anyMatch(each -> matches(each, host))
                    && hosts.stream().noneMatch(each -> each.startsWith("!") && matches(each.substring(1), host));
        }

        private static boolean matches(String pattern, String host) {
            var expression = pattern.chars()
                    .mapToObj(each -> switch (each) {
                        case '*' -> ".*";
                        case '?' -> ".";
                        default -> Pattern.quote(Character.toString(each));
                    })
                    .collect(Collectors.joining());
            return host.matches(expression);
        }
    }
}
