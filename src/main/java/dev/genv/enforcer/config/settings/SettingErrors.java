package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.model.SafeText;
import java.util.Collection;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The errors of the settings, collected so that all are reported at once. */
public final class SettingErrors {
    private static final int LONGEST = 1000;
    private static final Pattern MAYBE_SECRET =
            Pattern.compile("_((TOKEN|PASSPHRASE|PASSWORD|SECRET|URL)_FILE|WEBHOOK_URL)$");

    private final Variables variables;
    private final SortedMap<String, String> lines = new TreeMap<>();

    public SettingErrors(Variables variables) {
        this.variables = variables;
    }

    /** Adds an error of a variable, whether it is set or not. Only the first error of each variable is reported. */
    public void add(String variable, String reason) {
        lines.putIfAbsent(variable, line(variable, variables.value(variable), reason));
    }

    /** Adds an error of a variable that is no setting. Its value may be a secret, so it is not reported. */
    void addUnknown(String variable, String reason) {
        lines.putIfAbsent(variable, lineWithoutValue(variable, reason));
    }

    public boolean isEmpty() {
        return lines.isEmpty();
    }

    public void throwIfAny() throws InvalidSettingsException {
        if (!lines.isEmpty()) {
            throw new InvalidSettingsException(lines.values());
        }
    }

    /**
     * Returns one line for a terminal or a log. It omits the value if it may be a secret: the address of a webhook, or what an
     * administrator set instead of a file.
     */
    public static String line(String variable, String value, String reason) {
        return MAYBE_SECRET.matcher(variable).find()
                ? lineWithoutValue(variable, reason)
                : "%s=%s: %s"
                        .formatted(
                                SafeText.escape(variable),
                                SafeText.escape(value, LONGEST),
                                SafeText.escape(reason, LONGEST));
    }

    private static String lineWithoutValue(String variable, String reason) {
        return "%s: %s".formatted(SafeText.escape(variable), SafeText.escape(reason, LONGEST));
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
