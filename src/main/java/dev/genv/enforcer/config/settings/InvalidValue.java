package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.policy.Words;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A variable with an invalid value.
 *
 * @param value as it was set; empty where it is unset
 * @param reason which values are valid
 */
public record InvalidValue(String variable, String value, String reason) {
    private static final int LONGEST = 1000;

    /** SmallRye Config reports an invalid value in a text alone. */
    private static final Pattern MESSAGE = Pattern.compile(
            "SRCFG[0-9]+: The config property (?<property>\\S+) with the config value \"(?<value>.*)\""
                    + " threw an Exception whilst being converted (?<reason>.*)",
            Pattern.DOTALL);

    /** Reads a message of SmallRye Config; empty where it reports something else. */
    public static Optional<InvalidValue> parse(String message) {
        var match = MESSAGE.matcher(message);
        return match.find()
                ? Optional.of(new InvalidValue(
                        Variables.nameOf(match.group("property")), match.group("value"), match.group("reason")))
                : Optional.empty();
    }

    /** One line for a terminal or a log. */
    public String line() {
        return "%s=%s: %s".formatted(Words.safe(variable), Words.safe(value, LONGEST), Words.safe(reason, LONGEST));
    }
}
