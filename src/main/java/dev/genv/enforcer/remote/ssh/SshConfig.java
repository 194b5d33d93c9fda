package dev.genv.enforcer.remote.ssh;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An OpenSSH client configuration: sections of keywords for the hosts that match. JSch's own parser is not used: a repeated
 * {@code Host} overwrites the section before it, the lines under {@code Match} are added to the section before them, and it obeys
 * keywords that the service does not support.
 */
public record SshConfig(List<Section> sections) {
    public static final SshConfig EMPTY = new SshConfig(List.of());

    // These sections may apply to any host, so a configuration with one of them is refused.
    private static final Set<String> UNSUPPORTED = Set.of("match", "include");
    private static final Pattern KEYWORD = Pattern.compile("(\\w+)(?:\\s*=\\s*|\\s+|$)(.*)");
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|([^\\s\"]+)");

    /**
     * Parses a configuration.
     *
     * @throws IllegalArgumentException naming the line that cannot be parsed
     */
    public static SshConfig parse(String text) {
        var sections = new ArrayList<Section>();
        sections.add(new Section(List.of("*"), new ArrayList<>()));
        var lines = text.split("\\R", -1);
        for (var number = 1; number <= lines.length; number++) {
            var line = lines[number - 1].strip();
            if (!line.isEmpty() && !line.startsWith("#")) {
                read(line, number, sections);
            }
        }
        return new SshConfig(sections);
    }

    private static void read(String line, int number, List<Section> sections) {
        var keyword = KEYWORD.matcher(line);
        if (!keyword.matches()) {
            throw new IllegalArgumentException("line " + number + " is not a keyword and its value");
        }
        var key = keyword.group(1).toLowerCase(Locale.ROOT);
        if (UNSUPPORTED.contains(key)) {
            throw new IllegalArgumentException("line " + number + ": " + keyword.group(1) + " is not understood here");
        }
        var words = words(keyword.group(2));
        if (words.isEmpty()) {
            throw new IllegalArgumentException("line " + number + ": " + keyword.group(1) + " has no value");
        }
        if (key.equals("host")) {
            sections.add(new Section(words, new ArrayList<>()));
        } else {
            sections.getLast().entries().add(new Entry(key, words));
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
    Optional<String> first(String host, String keyword) {
        return values(host, keyword).findFirst().map(List::getFirst);
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
        var key = keyword.toLowerCase(Locale.ROOT);
        return sections.stream()
                .filter(section -> section.holdsFor(host))
                .flatMap(section -> section.entries().stream())
                .filter(entry -> entry.key().equals(key))
                .map(Entry::words);
    }

    record Entry(String key, List<String> words) {}

    record Section(List<String> patterns, List<Entry> entries) {
        boolean holdsFor(String host) {
            return patterns.stream().anyMatch(each -> matches(each, host))
                    && patterns.stream().noneMatch(each -> each.startsWith("!") && matches(each.substring(1), host));
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
