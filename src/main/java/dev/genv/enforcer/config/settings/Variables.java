package dev.genv.enforcer.config.settings;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Environment variables. A blank one counts as unset. */
public final class Variables {
    /** System properties that mean the same as variables, for tests and for dev mode. */
    private static final String PROPERTIES = "genv.enforcer.";

    private final SortedMap<String, String> values = new TreeMap<>();

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

    /** Returns the variable that sets a property. */
    public static String nameOf(String property) {
        return property.replaceAll("[^A-Za-z0-9]", "_").toUpperCase(Locale.ROOT);
    }

    public boolean isSet(String name) {
        return values.containsKey(name);
    }

    /** Returns the value; empty if the variable is unset. */
    public String value(String name) {
        return values.getOrDefault(name, "");
    }

    /** Returns the names of all variables that are set, sorted. */
    Iterable<String> names() {
        return values.keySet();
    }

    /** Finds variables that look like a setting but are none, because an administrator relies on them. */
    static final class UnknownVariables {
        private static final String PREFIX = "GENV_ENFORCER_";
        /** Kubernetes sets such variables in every container for Services named genv-enforcer or genv-enforcer-…. */
        private static final Pattern OF_A_SERVICE =
                Pattern.compile(PREFIX + "([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?"
                        + "|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)");

        private static final int LARGEST_DISTANCE = 8;

        private UnknownVariables() {}

        static void check(Variables variables, Collection<String> known, SettingErrors errors) {
            for (var name : variables.names()) {
                if (name.startsWith(PREFIX) && !known.contains(name) && !isOfKubernetes(name, variables.value(name))) {
                    errors.addUnknown(name, "there is no such setting" + nearest(name, known));
                }
            }
        }

        private static boolean isOfKubernetes(String name, String value) {
            return OF_A_SERVICE.matcher(name).matches() || (name.endsWith("_PORT") && value.contains("://"));
        }

        private static String nearest(String name, Collection<String> known) {
            return known.stream()
                    .min(Comparator.comparingInt((String candidate) -> distance(candidate, name))
                            .thenComparing(Comparator.naturalOrder()))
                    .filter(candidate -> distance(candidate, name) <= LARGEST_DISTANCE)
                    .map("; did you mean %s?"::formatted)
                    .orElse("");
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
    }
}
