package dev.genv.enforcer.config.settings;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.eclipse.microprofile.config.spi.Converter;
import org.jspecify.annotations.Nullable;

/**
 * Converts the value of a setting; null means unset. SmallRye Config creates each converter with its public constructor, and finds the
 * type in {@code convert}, so a converter of a mapping declares that method, unless the type has parameters.
 */
@SuppressWarnings("serial") // required by the interface; a converter is never serialized
public class SettingConverter<T> implements Converter<T> {
    private final String accepted;
    private final Function<String, ? extends Optional<? extends T>> parser;

    /**
     * Sets what the converter accepts, which completes the sentence "expected …", and how it reads a value. For an invalid value the
     * parser returns nothing, or throws an exception that says more.
     */
    public SettingConverter(String accepted, Function<String, ? extends Optional<? extends T>> parser) {
        this.accepted = accepted;
        this.parser = parser;
    }

    /** Returns which values are valid, in the words of the error message and the documentation. */
    public final String accepted() {
        return accepted;
    }

    /** Reads a value without blanks around it. The exception for an invalid one says which values are valid. */
    protected final T parse(String value) {
        var parsed = parser.apply(value);
        if (parsed.isEmpty()) {
            throw new IllegalArgumentException("expected " + accepted);
        }
        return parsed.get();
    }

    @Override
    public @Nullable T convert(String value) {
        return parse(value);
    }

    /** Converts one of a few words, in upper or lower case: the names of constants, with {@code -} for {@code _}. */
    @SuppressWarnings("serial")
    public static final class ChoiceConverter<T> extends SettingConverter<T> {
        /** Accepts constants, and further words for them, which the documentation of the setting names. */
        public ChoiceConverter(List<? extends T> constants, Map<String, ? extends T> aliases) {
            super(enumeration(constants), value -> {
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

        private static String enumeration(List<?> constants) {
            var words = constants.stream().map(ChoiceConverter::word).toList();
            return String.join(", ", words.subList(0, words.size() - 1)) + " or " + words.getLast();
        }
    }
}
