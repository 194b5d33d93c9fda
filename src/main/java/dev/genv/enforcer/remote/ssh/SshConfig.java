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
 * An OpenSSH client configuration: sections of keywords for the hosts that match. Not read by JSch, which joins what
 * stands under {@code Match} to the section before, loses the first of two sections of one name, and would follow keywords that
 * nobody here has asked for.
 */
final class SshConfig {
    static final SshConfig EMPTY = new SshConfig(List.of());

    // What stands in them may hold for any host: to go on without it would be to guess.
    private static final Set<String> NOT_UNDERSTOOD = Set.of("match", "include");
    private static final Pattern KEYWORD = Pattern.compile("(\\w+)(?:\\s*=\\s*|\\s+|$)(.*)");
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|([^\\s\"]+)");

    private final List<Section> sections;

    private SshConfig(List<Section> sections) {
        this.sections = List.copyOf(sections);
    }

    /**
     * Reads one.
     *
     * @throws IllegalArgumentException naming the line that cannot be understood
     */
    static SshConfig parse(String text) {
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
        if (NOT_UNDERSTOOD.contains(key)) {
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
        var words = new ArrayList<String>();
        var matcher = WORD.matcher(text);
        while (matcher.find()) {
            var quoted = matcher.group(1);
            if (quoted == null && matcher.group(2).startsWith("#")) {
                break;
            }
            words.add(quoted == null ? matcher.group(2) : quoted);
        }
        return words;
    }

    /** The first word that it has for a host and a keyword. */
    Optional<String> first(String host, String keyword) {
        return values(host, keyword).findFirst().map(List::getFirst);
    }

    /** All words of the first line that it has for a host and a keyword. */
    List<String> firstLine(String host, String keyword) {
        return values(host, keyword).findFirst().orElse(List.of());
    }

    /** The first words of all lines that it has for a host and a keyword. */
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

    private record Entry(String key, List<String> words) {}

    private record Section(List<String> patterns, List<Entry> entries) {
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
