package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.model.SafeText;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Environment variables, and their errors, which are collected so that all are reported at once. A blank variable counts as unset. */
public final class Variables {
    /** System properties that take precedence over variables, for the command line, for tests and for dev mode. */
    private static final String PROPERTIES = "genv.enforcer.";

    private static final String PREFIX = "GENV_ENFORCER_";
    private static final int LONGEST = 1000;
    private static final Pattern MAYBE_SECRET =
            Pattern.compile("_((TOKEN|PASSPHRASE|PASSWORD|SECRET|URL)_FILE|WEBHOOK_URL)$");

    /** Kubernetes sets such variables in every container for Services named genv-enforcer or genv-enforcer-…. */
    private static final Pattern OF_A_SERVICE =
            Pattern.compile(PREFIX + "([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
                    + "|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)");

    /** Settings that other versions have, and what replaces them. */
    private static final Map<String, String> REPLACED = Map.of(
            PREFIX + "UNLISTED_PROCESSES",
            "; remove it: the problem unexplained_memory reports this memory, above GENV_ENFORCER_UNLISTED_MEMORY");

    private static final int LARGEST_DISTANCE = 2;
    private static final int MOST_SUGGESTIONS = 2;

    private final SortedMap<String, String> values = new TreeMap<>();
    private final SortedMap<String, String> errors = new TreeMap<>();

    public Variables(Map<String, String> environment) {
        values.putAll(environment);
        values.values().removeIf(String::isBlank);
    }

    public static Variables ofProcess() {
        var all = new HashMap<>(System.getenv());
        for (var property : System.getProperties().stringPropertyNames()) {
            if (property.startsWith(PROPERTIES)) {
                all.put(nameOf(property), System.getProperty(property, ""));
            }
        }
        return new Variables(all);
    }

    /** Sets a variable of this process, without its prefix; a blank value unsets it. */
    public static void override(String name, String value) {
        System.setProperty(PROPERTIES + name, value);
    }

    /** Returns the variable that sets a property. */
    public static String nameOf(String property) {
        return property.replaceAll("[^A-Za-z0-9]", "_").toUpperCase(Locale.ROOT);
    }

    public boolean isSet(String name) {
        return values.containsKey(name);
    }

    /** Returns the value without blanks around it; empty if the variable is unset. */
    public String value(String name) {
        return values.getOrDefault(name, "").strip();
    }

    /**
     * Adds an error of a variable, whether it is set or not. Only the first error of each variable is reported. Its line omits the value if
     * it may be a secret: the address of a webhook, or what an administrator set instead of a file.
     */
    void refuse(String name, String reason) {
        refuse(name, MAYBE_SECRET.matcher(name).find() ? "" : "=" + values.getOrDefault(name, ""), reason);
    }

    private void refuse(String name, String value, String reason) {
        errors.putIfAbsent(
                name,
                "%s%s: %s"
                        .formatted(
                                SafeText.escape(name),
                                SafeText.escape(value, LONGEST),
                                SafeText.escape(reason, LONGEST)));
    }

    /**
     * Refuses variables that look like a setting but are none, because an administrator relies on them. Their values may be secrets, so they
     * are not reported.
     */
    void refuseUnknown(Collection<String> known) {
        values.forEach((name, value) -> {
            var isOfKubernetes =
                    OF_A_SERVICE.matcher(name).matches() || (name.endsWith("_PORT") && value.contains("://"));
            if (name.startsWith(PREFIX) && !known.contains(name) && !isOfKubernetes) {
                refuse(
                        name,
                        "",
                        "there is no such setting"
                                + (REPLACED.containsKey(name) ? REPLACED.get(name) : nearest(name, known)));
            }
        });
    }

    boolean hasErrors() {
        return !errors.isEmpty();
    }

    public void throwIfAnyIsInvalid() throws InvalidSettingsException {
        if (hasErrors()) {
            throw new InvalidSettingsException(errors.values());
        }
    }

    /**
     * Returns the settings that a name may mean: those within two letters, or else those that have all its words or most of the words of
     * both, by the number of words and then of letters. Many that are equally near mean nothing.
     */
    private static String nearest(String name, Collection<String> known) {
        var best = known.stream()
                .filter(candidate -> Rank.of(candidate, name).sharedWords > 0)
                .collect(
                        Collectors.groupingBy(candidate -> Rank.of(candidate, name), TreeMap::new, Collectors.toList()))
                .firstEntry();
        return best == null || best.getValue().size() > MOST_SUGGESTIONS
                ? ""
                : best.getValue().stream().sorted().collect(Collectors.joining(" or ", "; did you mean ", "?"));
    }

    /** How near a setting is to a name; the nearest is the first. */
    private record Rank(int sharedWords, int letters) implements Comparable<Rank> {
        static Rank of(String candidate, String name) {
            var distance = distance(shortened(candidate), shortened(name));
            var shared = words(candidate);
            shared.retainAll(words(name));
            var all = words(candidate);
            all.addAll(words(name));
            if (distance <= LARGEST_DISTANCE) {
                return new Rank(Integer.MAX_VALUE, distance);
            }
            return new Rank(shared.equals(words(name)) || 2 * shared.size() > all.size() ? shared.size() : 0, distance);
        }

        @Override
        public int compareTo(Rank other) {
            return Comparator.comparingInt(Rank::sharedWords)
                    .reversed()
                    .thenComparingInt(Rank::letters)
                    .compare(this, other);
        }
    }

    private static Set<String> words(String name) {
        return new HashSet<>(List.of(shortened(name).split("_", -1)));
    }

    private static String shortened(String name) {
        return name.replaceFirst("^(" + PREFIX + "|GENV_|ENFORCER_|QUARKUS_)", "");
    }

    /**
     * Returns a line for each variable that is a setting but for its prefix, if the setting itself is not set: a default applies instead of
     * what an administrator may rely on. Other programs may use the variable, so it is no error.
     */
    public List<String> misnamed(Collection<String> known) {
        return values.keySet().stream()
                .filter(name -> !known.contains(name))
                .flatMap(name -> Stream.of(PREFIX + name, PREFIX + shortened(name))
                        .filter(setting -> known.contains(setting) && !isSet(setting))
                        .limit(1)
                        .map(setting -> "%s has no effect: the setting is %s".formatted(name, setting)))
                .toList();
    }

    /** Returns the Levenshtein distance: how many letters must be inserted, removed or changed. */
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

    /** Invalid settings, with which the service does not start. */
    public static final class InvalidSettingsException extends Exception {
        private static final long serialVersionUID = 1L;

        InvalidSettingsException(Collection<String> lines) {
            super(String.join("\n", lines));
        }

        /** Returns one line for each invalid variable: its name, its value, and which values are valid. */
        public List<String> lines() {
            return String.valueOf(getMessage()).lines().toList();
        }
    }
}
