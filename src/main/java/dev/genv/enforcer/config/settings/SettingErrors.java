package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.model.SafeText;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

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

    /** A variable with an invalid value, empty if the variable is unset, and which values are valid. */
    public record InvalidValue(String variable, String value, String reason) {
        private static final int LONGEST = 1000;
        private static final Pattern MAYBE_SECRET =
                Pattern.compile("_((TOKEN|PASSPHRASE|PASSWORD|SECRET|URL)_FILE|WEBHOOK_URL)$");

        /** SmallRye Config reports an invalid value only as text. */
        private static final Pattern MESSAGE = Pattern.compile(
                "SRCFG[0-9]+: The config property (?<property>\\S+) with the config value \"(?<value>.*)\""
                        + " threw an Exception whilst being converted (?<reason>.*)",
                Pattern.DOTALL);

        /** Parses a message of SmallRye Config; empty if it reports something else. */
        public static Optional<InvalidValue> parse(String message) {
            var match = MESSAGE.matcher(message);
            return match.find()
                    ? Optional.of(new InvalidValue(
                            Variables.nameOf(match.group("property")), match.group("value"), match.group("reason")))
                    : Optional.empty();
        }

        /** Returns one line for a terminal or a log. It omits the value if it may be a secret: the address of a webhook, or what an administrator set instead of a file. */
        public String line() {
            return MAYBE_SECRET.matcher(variable).find()
                    ? lineWithoutValue(variable, reason)
                    : "%s=%s: %s"
                            .formatted(
                                    SafeText.escape(variable),
                                    SafeText.escape(value, LONGEST),
                                    SafeText.escape(reason, LONGEST));
        }

        /** Returns one line for a terminal or a log, without the value. */
        static String lineWithoutValue(String variable, String reason) {
            return "%s: %s".formatted(SafeText.escape(variable), SafeText.escape(reason, LONGEST));
        }
    }

    /** Invalid settings, with which the service does not start. */
    public static final class InvalidSettingsException extends Exception {
        private static final long serialVersionUID = 1L;
        private final transient List<String> lines;

        InvalidSettingsException(List<String> lines) {
            super(String.join("\n", lines));
            this.lines = List.copyOf(lines);
        }

        /** Returns one line for each invalid variable: its name, its value, and which values are valid. */
        public List<String> lines() {
            return lines;
        }
    }
}
