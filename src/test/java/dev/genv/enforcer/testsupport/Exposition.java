package dev.genv.enforcer.testsupport;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Metrics in Prometheus' text format or in OpenMetrics.
 *
 * @param types the type of each metric, by its name in the header
 * @param descriptions likewise
 * @param samples the values by name and sorted labels, such as {@code up{host="a"}}
 */
public record Exposition(
        SortedMap<String, String> types, SortedMap<String, String> descriptions, SortedMap<String, Double> samples) {
    private static final Pattern HEADER = Pattern.compile("(?m)^# (HELP|TYPE) (\\w+) (.*)$");
    private static final Pattern SAMPLE = Pattern.compile("(?m)^(\\w+)(?:\\{(.*)})? ([^ \\n]+)$");
    private static final Pattern LABEL = Pattern.compile("(\\w+)=(\"(?:[^\"\\\\]|\\\\.)*\")");

    /**
     * Parses an exposition.
     *
     * @throws IllegalArgumentException if it has a series twice
     */
    public static Exposition parse(String text) {
        var lines = text.replace("\r", "");
        var parsed = new Exposition(new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
        HEADER.matcher(lines)
                .results()
                .forEach(header -> (header.group(1).equals("TYPE") ? parsed.types : parsed.descriptions)
                        .put(header.group(2), header.group(3)));
        SAMPLE.matcher(lines).results().forEach(sample -> {
            var key = sample.group(1) + labels(sample.group(2));
            if (parsed.samples.put(key, Double.valueOf(sample.group(3))) != null) {
                throw new IllegalArgumentException("twice: " + key);
            }
        });
        return parsed;
    }

    private static String labels(String text) {
        var labels = new TreeMap<String, String>();
        if (text != null) {
            LABEL.matcher(text).results().forEach(label -> labels.put(label.group(1), label.group(2)));
        }
        return labels.isEmpty() ? "" : labels.toString().replace(", ", ",");
    }

    /** Returns the metrics with these names. */
    public Exposition only(Predicate<String> names) {
        return new Exposition(
                filtered(types, names),
                filtered(descriptions, names),
                filtered(samples, key -> names.test(nameOf(key))));
    }

    /** Returns the metrics that genv itself exports. */
    public Exposition ofGenv() {
        return only(name -> name.startsWith("genv_") && !name.startsWith("genv_enforcer_"));
    }

    private static String nameOf(String key) {
        return key.replaceFirst("\\{.*", "");
    }

    private static <T> SortedMap<String, T> filtered(Map<String, T> all, Predicate<String> names) {
        var some = new TreeMap<>(all);
        some.keySet().removeIf(names.negate());
        return some;
    }
}
