package dev.genv.enforcer.config.settings.reading;

import java.util.ArrayList;
import java.util.SortedMap;
import java.util.TreeMap;

/** The errors of the settings, collected so that all are reported at once. */
public final class SettingErrors {
    private final Variables variables;
    private final SortedMap<String, String> lines = new TreeMap<>();

    public SettingErrors(Variables variables) {
        this.variables = variables;
    }

    /** Adds an error of a variable, whether it is set or not. Only the first error of each variable is reported. */
    public void add(String variable, String reason) {
        lines.putIfAbsent(variable, new InvalidValue(variable, variables.value(variable), reason).line());
    }

    /** Adds an error of a variable that is no setting. Its value may be a secret, so it is not reported. */
    void addUnknown(String variable, String reason) {
        lines.putIfAbsent(variable, InvalidValue.lineWithoutValue(variable, reason));
    }

    public boolean isEmpty() {
        return lines.isEmpty();
    }

    public void throwIfAny() throws InvalidSettingsException {
        if (!lines.isEmpty()) {
            throw new InvalidSettingsException(new ArrayList<>(lines.values()));
        }
    }
}
