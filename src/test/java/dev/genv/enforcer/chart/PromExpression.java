package dev.genv.enforcer.chart;

import java.util.ArrayDeque;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** The series of a PromQL expression; it parses the part of the language that the alerts and the dashboard use. */
public record PromExpression(String text) {
    private static final Pattern QUOTED = Pattern.compile("\"(?:[^\"\\\\]|\\\\.)*\"");
    private static final Pattern GROUPING =
            Pattern.compile("\\b(by|without|on|ignoring|group_left|group_right)\\s*\\([^)]*\\)");
    private static final Pattern RANGE = Pattern.compile("\\[[^]]*]");
    private static final Pattern OFFSET = Pattern.compile("\\boffset\\s+\\w+");
    private static final Pattern SELECTOR =
            Pattern.compile("(?<![a-zA-Z0-9_:.])([a-zA-Z_:][a-zA-Z0-9_:]*)\\s*(\\{[^}]*}|\\(|)");
    private static final Pattern LABEL = Pattern.compile("([a-zA-Z_][a-zA-Z0-9_]*)\\s*(?:=~|!~|!=|=)");
    private static final String OPENS = "([{";
    private static final String CLOSES = ")]}";
    private static final Set<String> WORDS = Set.of("and", "or", "unless", "bool");

    /** The names of the metrics, each with the labels of its selectors. */
    public Map<String, Set<String>> metrics() {
        var metrics = new TreeMap<String, Set<String>>();
        var bare = QUOTED.matcher(text).replaceAll("\"\"");
        bare = GROUPING.matcher(bare).replaceAll("");
        bare = RANGE.matcher(bare).replaceAll("");
        bare = OFFSET.matcher(bare).replaceAll("");
        var selector = SELECTOR.matcher(bare);
        while (selector.find()) {
            var follows = selector.group(2);
            if (!follows.equals("(") && !WORDS.contains(selector.group(1))) {
                var labels = metrics.computeIfAbsent(selector.group(1), _ -> new TreeSet<>());
                LABEL.matcher(follows).results().forEach(label -> labels.add(label.group(1)));
            }
        }
        return metrics;
    }

    /** Whether every bracket and quote is closed. */
    boolean isBalanced() {
        var open = new ArrayDeque<Character>();
        var bare = QUOTED.matcher(text).replaceAll("");
        for (var i = 0; i < bare.length(); i++) {
            var each = bare.charAt(i);
            if (OPENS.indexOf(each) >= 0) {
                open.push(each);
            }
            var closed = CLOSES.indexOf(each);
            if (closed >= 0 && (open.isEmpty() || open.pop() != OPENS.charAt(closed))) {
                return false;
            }
        }
        return open.isEmpty() && bare.indexOf('"') < 0;
    }
}
