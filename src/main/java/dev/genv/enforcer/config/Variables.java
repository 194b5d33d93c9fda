package dev.genv.enforcer.config;

import dev.genv.enforcer.policy.Words;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The environment variables, read one by one. Complaints are kept until the end, so that all of them can be told at once;
 * and a variable that looks like a setting but that nobody has read by then is one of them, for somebody relies on it.
 */
final class Variables {
    static final String PREFIX = "GENV_ENFORCER_";
    /** The same as system properties, for tests and for dev mode. */
    private static final String PROPERTIES = "genv.enforcer.";
    /** Kubernetes tells every container about Services named genv-enforcer or genv-enforcer-… in such variables. */
    private static final Pattern OF_A_SERVICE =
            Pattern.compile(PREFIX + "([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
                    + "|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)");

    private static final int TOO_FAR = 8;
    private static final int LONGEST = 1000;

    private final Map<String, String> values = new HashMap<>();
    private final SortedSet<String> known = new TreeSet<>();
    private final List<String> complaints = new ArrayList<>();

    Variables(Map<String, String> environment) {
        values.putAll(environment);
        values.values().removeIf(String::isBlank); // an empty value means that nothing was set
    }

    /** Those of this process. */
    static Variables ofProcess() {
        var all = new HashMap<>(System.getenv());
        for (var property : System.getProperties().stringPropertyNames()) {
            if (property.startsWith(PROPERTIES)) {
                var name = property.replaceAll("[^A-Za-z0-9]", "_").toUpperCase(Locale.ROOT);
                all.put(name, System.getProperty(property, ""));
            }
        }
        return new Variables(all);
    }

    /**
     * Reads a variable.
     *
     * @param otherwise what it means if it is not set, or cannot be read
     * @param reader says in the message of its IllegalArgumentException what would be right
     */
    <T> T get(String name, T otherwise, Function<String, T> reader) {
        var value = find(name, reader);
        return value == null ? otherwise : value;
    }

    /** Reads a variable that need not be set; null if it is not, or cannot be read. */
    <T> @Nullable T find(String name, Function<String, T> reader) {
        known.add(name);
        var value = values.get(name);
        if (value == null) {
            return null;
        }
        try {
            return reader.apply(value.strip());
        } catch (IllegalArgumentException e) {
            refuse(name, String.valueOf(e.getMessage()));
            return null;
        }
    }

    boolean isSet(String name) {
        return values.containsKey(name);
    }

    /** What it is set to; empty where it is not. */
    String text(String name) {
        return values.getOrDefault(name, "").strip();
    }

    boolean hasComplaints() {
        return !complaints.isEmpty();
    }

    /** The names of all that somebody has asked for by now. */
    SortedSet<String> known() {
        return Collections.unmodifiableSortedSet(known);
    }

    /** Complains of a variable, whether it is set or not. */
    void refuse(String name, String why) {
        complaints.add(complaint(name, why));
    }

    /** Values may come from anywhere, and the reason may repeat them. */
    private String complaint(String name, String why) {
        var value = values.getOrDefault(name, "");
        return "%s=%s: %s".formatted(Words.safe(name), Words.safe(value, LONGEST), Words.safe(why, LONGEST));
    }

    /** Complains of all known variables with this prefix that are set. */
    void refuseAll(String prefix, String why) {
        known.stream()
                .filter(name -> name.startsWith(prefix) && values.containsKey(name))
                .forEach(name -> refuse(name, why));
    }

    /**
     * To be called when everything has been read.
     *
     * @throws BadSettingsException naming every variable that is bad, and not only the first
     */
    void check() throws BadSettingsException {
        var all = new ArrayList<>(complaints);
        values.keySet().stream()
                .filter(name -> name.startsWith(PREFIX) && !known.contains(name) && !isKubernetes(name))
                .sorted()
                .forEach(name -> all.add(complaint(name, "there is no such setting" + nearest(name))));
        if (!all.isEmpty()) {
            throw new BadSettingsException(all);
        }
    }

    private boolean isKubernetes(String name) {
        return OF_A_SERVICE.matcher(name).matches()
                || (name.endsWith("_PORT") && values.getOrDefault(name, "").contains("://"));
    }

    private String nearest(String name) {
        return known.stream()
                .min(Comparator.comparingInt(candidate -> distance(candidate, name)))
                .filter(candidate -> distance(candidate, name) <= TOO_FAR)
                .map("; did you mean %s?"::formatted)
                .orElse("");
    }

    /** How many letters must be put in, taken out or changed to make one of the other (Levenshtein). */
    private static int distance(String one, String other) {
        var row = new int[other.length() + 1];
        for (var j = 0; j < row.length; j++) {
            row[j] = j;
        }
        for (var i = 1; i <= one.length(); i++) {
            var diagonal = row[0];
            row[0] = i;
            for (var j = 1; j < row.length; j++) {
                var change = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(change, Math.min(row[j - 1], diagonal) + 1);
            }
        }
        return row[other.length()];
    }
}
