package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.linux.WatchedFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * An OpenSSH client configuration: sections of keywords for the hosts that match. JSch's own parser is not used: a repeated
 * {@code Host} overwrites the section before it, the lines under {@code Match} are added to the section before them, it knows no
 * {@code Include}, and it obeys keywords that the service does not support.
 */
record SshConfig(List<Line> lines) {
    static final SshConfig EMPTY = new SshConfig(List.of());

    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|([^\\s\"]+)");

    /**
     * Reads a configuration and what it includes.
     *
     * @param home the directory for which {@code ~} stands
     * @throws IllegalArgumentException naming the line that is not understood
     * @throws IOException if a file cannot be read
     */
    static SshConfig read(Path file, String home) throws IOException {
        var parser = new Parser(file.toAbsolutePath(), home);
        parser.parseFile(file, Section.EVERY_HOST, 0);
        return new SshConfig(parser.lines);
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
        var decided = new IdentityHashMap<Section, Boolean>();
        var found = new ArrayList<List<String>>();
        String hostName = null;
        for (var line : lines) {
            if (line.section.holds(new Target(host, hostName), decided)) {
                if (line.key.equalsIgnoreCase(keyword)) {
                    found.add(line.words);
                }
                if (hostName == null && line.key.equals("hostname")) {
                    hostName = line.words.getFirst().replace("%h", host);
                }
            }
        }
        return found.stream();
    }

    /** A line with a keyword in small letters. */
    record Line(Section section, String key, List<String> words) {}

    /**
     * The host for which the configuration is read.
     *
     * @param name the first {@code HostName} that applied so far
     */
    private record Target(String given, @Nullable String name) {
        String named() {
            return name == null ? given : name;
        }
    }

    /**
     * The lines after a {@code Host} or {@code Match}.
     *
     * @param outer the section with the {@code Include} of this file, in which it must be too
     */
    private record Section(@Nullable Section outer, Predicate<Target> condition) {
        static final Section EVERY_HOST = new Section(null, _ -> true);

        /** Whether it applies. That is decided at its begin: a {@code HostName} in it changes nothing. */
        boolean holds(Target target, Map<Section, Boolean> decided) {
            var known = decided.get(this);
            if (known == null) {
                known = (outer == null || outer.holds(target, decided)) && condition.test(target);
                decided.put(this, known);
            }
            return known;
        }
    }

    /** Whether a name matches one of these patterns and none of those that begin with {@code !}. */
    static boolean matches(List<String> patterns, String name) {
        return patterns.stream().anyMatch(each -> matches(each, name))
                && patterns.stream().noneMatch(each -> each.startsWith("!") && matches(each.substring(1), name));
    }

    private static boolean matches(String pattern, String name) {
        var expression = pattern.chars()
                .mapToObj(each -> switch (each) {
                    case '*' -> ".*";
                    case '?' -> ".";
                    default -> Pattern.quote(Character.toString(each));
                })
                .collect(Collectors.joining());
        return name.matches(expression);
    }

    private static final class Parser {
        private static final int LARGEST = 1 << 20;
        private static final int DEEPEST = 16;
        private static final Pattern KEYWORD = Pattern.compile("(\\w+)(?:\\s*=\\s*|\\s+|$)(.*)");
        private static final Pattern WILDCARD = Pattern.compile("[*?\\[]");

        private final List<Line> lines = new ArrayList<>();
        private final Path main;
        private final String home;

        Parser(Path main, String home) {
            this.main = main;
            this.home = home;
        }

        private void parseFile(Path file, Section outer, int depth) throws IOException {
            var text = new WatchedFile<>(file, LARGEST, bytes -> new String(bytes, StandardCharsets.UTF_8)).current();
            try {
                parse(text, outer, depth);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException(file + ": " + e.getMessage(), e);
            }
        }

        private void parse(String text, Section outer, int depth) {
            var section = outer;
            var read = text.split("\\R", -1);
            for (var number = 1; number <= read.length; number++) {
                var line = read[number - 1].strip();
                if (line.isEmpty() || line.startsWith("#")) {
                    continue;
                }
                var keyword = KEYWORD.matcher(line);
                require(keyword.matches(), number, " is not a keyword and its value");
                var key = keyword.group(1).toLowerCase(Locale.ROOT);
                var words = words(keyword.group(2));
                require(!words.isEmpty(), number, ": " + keyword.group(1) + " has no value");
                switch (key) {
                    case "host" -> section = new Section(outer, target -> matches(words, target.given));
                    case "match" -> section = new Section(outer, criteria(words, number));
                    case "include" -> {
                        require(depth < DEEPEST, number, ": Include is nested too deeply");
                        try {
                            for (var file : included(words, number)) {
                                parseFile(file, section, depth + 1);
                            }
                        } catch (IOException e) {
                            throw new IllegalArgumentException("line " + number + ": " + e.getMessage(), e);
                        }
                    }
                    default -> lines.add(new Line(section, key, words));
                }
            }
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

        /** All criteria must hold. */
        private static Predicate<Target> criteria(List<String> words, int number) {
            Predicate<Target> all = _ -> true;
            var rest = words.iterator();
            while (rest.hasNext()) {
                var word = rest.next();
                var isNegated = word.startsWith("!");
                var name = word.substring(isNegated ? 1 : 0).toLowerCase(Locale.ROOT);
                if (name.equals("all")) {
                    require(words.size() == 1 && !isNegated, number, ": Match all stands alone");
                    continue;
                }
                // What others such as exec ask for is not known here, so their sections could apply to any host.
                require(
                        List.of("host", "originalhost").contains(name),
                        number,
                        ": Match " + word + " is not understood here");
                require(rest.hasNext(), number, ": Match " + word + " has no value");
                var patterns = Arrays.asList(rest.next().split(",", -1));
                Predicate<Target> one =
                        target -> matches(patterns, name.equals("host") ? target.named() : target.given);
                all = all.and(isNegated ? one.negate() : one);
            }
            return all;
        }

        /** Returns the files that there are, those of each pattern by their names. Paths are relative to the main file. */
        private List<Path> included(List<String> patterns, int number) throws IOException {
            var files = new ArrayList<Path>();
            for (var pattern : patterns) {
                require(
                        !pattern.matches("~[^/].*|.*[%$].*"),
                        number,
                        ": " + pattern + " is not understood here: give a path with neither ~USER, % nor $");
                var path = main.resolveSibling(pattern.startsWith("~/") ? home + pattern.substring(1) : pattern);
                var folder = path.resolveSibling("");
                var name = String.valueOf(path.getFileName());
                require(
                        !WILDCARD.matcher(folder.toString()).find(),
                        number,
                        ": only the last name of " + pattern + " may have wildcards");
                if (!WILDCARD.matcher(name).find()) {
                    Stream.of(path).filter(Files::exists).forEach(files::add);
                } else if (Files.isDirectory(folder)) {
                    try (var found = Files.newDirectoryStream(folder, name.replaceAll("[{}\\\\]", "\\\\$0"))) {
                        StreamSupport.stream(found.spliterator(), false)
                                .filter(file -> name.startsWith(".")
                                        || !String.valueOf(file.getFileName()).startsWith("."))
                                .sorted()
                                .forEach(files::add);
                    }
                }
            }
            return files;
        }
    }
}
