package dev.genv.enforcer.config.settings.reading;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Environment variables. A blank one counts as unset. */
public final class Variables {
    /** System properties that mean the same as variables, for tests and for dev mode. */
    private static final String PROPERTIES = "genv.enforcer.";

    private final SortedMap<String, String> values = new TreeMap<>();

    /** Creates it from these variables. */
    public Variables(Map<String, String> environment) {
        values.putAll(environment);
        values.values().removeIf(String::isBlank);
    }

    /** Returns the variables of this process. */
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
}
