package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.linux.Errno;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Reads the value of a setting.
 *
 * @param accepted which values are valid, in the words of the error message and the documentation; it completes the sentence "expected …"
 * @param reader for an invalid value it returns nothing, or throws an exception that says more
 */
record SettingParser<T>(String accepted, Reader<T> reader) {
    /** Reads a value without blanks around it, or the file that it names. */
    @FunctionalInterface
    interface Reader<T> {
        Optional<? extends T> read(String value) throws IOException;
    }

    /** Accepts one of a few words, in upper or lower case: the names of constants, with {@code -} for {@code _}. */
    static <T> SettingParser<T> ofChoices(List<? extends T> constants) {
        return ofChoices(constants, Map.of());
    }

    /** Accepts constants, and further words for them, which the documentation of the setting names. */
    static <T> SettingParser<T> ofChoices(List<? extends T> constants, Map<String, ? extends T> aliases) {
        var words = constants.stream().map(SettingParser::word).toList();
        var enumeration = String.join(", ", words.subList(0, words.size() - 1)) + " or " + words.getLast();
        return new SettingParser<>(enumeration, value -> {
            var word = value.toLowerCase(Locale.ROOT);
            return constants.stream()
                    .filter(constant -> word(constant).equals(word))
                    .<T>map(Function.identity())
                    .findFirst()
                    .or(() -> Optional.ofNullable(aliases.get(word)));
        });
    }

    private static String word(Object constant) {
        return constant.toString().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * Reads a value. The exception for an invalid one says which values are valid, or why a file cannot be used, without its path, which
     * may be a secret that was set by mistake.
     */
    T parse(String value) {
        try {
            var parsed = reader.read(value);
            if (parsed.isPresent()) {
                return parsed.get();
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("expected %s: %s".formatted(accepted, Errno.textOf(e)), e);
        }
        throw new IllegalArgumentException("expected " + accepted);
    }
}
