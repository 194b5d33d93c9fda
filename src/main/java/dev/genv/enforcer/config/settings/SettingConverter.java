package dev.genv.enforcer.config.settings;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.eclipse.microprofile.config.spi.Converter;
import org.jspecify.annotations.Nullable;

/** Converts the value of a setting; null means unset. SmallRye Config creates each converter with its public constructor. */
@SuppressWarnings("serial") // required by the interface; a converter is never serialized
public abstract class SettingConverter<T extends @Nullable Object> implements Converter<T> {
    private final String accepted;

    /** Sets what the converter accepts, which completes the sentence "expected …". */
    protected SettingConverter(String accepted) {
        this.accepted = accepted;
    }

    /** Returns which values are valid, in the words of the error message and the documentation. */
    public final String accepted() {
        return accepted;
    }

    /** Returns the exception that {@link #convert} throws for an invalid value. */
    protected final IllegalArgumentException invalid() {
        return new IllegalArgumentException("expected " + accepted);
    }

    /** Converts a value without blanks around it. The exception for an invalid one says which values are valid. */
    @Override
    public abstract T convert(String value);

    /** Converts one of a few words, in upper or lower case. */
    @SuppressWarnings("serial")
    public abstract static class ChoiceConverter<T> extends SettingConverter<T> {
        private final Map<String, T> choices = new LinkedHashMap<>();

        /** Accepts these constants by their names, with {@code -} for {@code _}. */
        public ChoiceConverter(List<? extends T> constants) {
            super(enumeration(constants.stream().map(ChoiceConverter::word).toList()));
            constants.forEach(constant -> choices.put(word(constant), constant));
        }

        /** Accepts one more word for a constant, which the documentation of the setting names. */
        public final void addAlias(String word, T constant) {
            choices.put(word, constant);
        }

        /** Returns the constant of a word. SmallRye Config finds the type in {@code convert}, so a converter of a mapping declares it. */
        @Override
        public T convert(String value) {
            var choice = choices.get(value.toLowerCase(Locale.ROOT));
            if (choice == null) {
                throw invalid();
            }
            return choice;
        }

        private static String word(Object constant) {
            return constant.toString().toLowerCase(Locale.ROOT).replace('_', '-');
        }

        private static String enumeration(List<String> words) {
            var last = words.size() - 1;
            return String.join(", ", words.subList(0, last)) + " or " + words.get(last);
        }
    }

    /** Converts one of the constants of an enum. SmallRye Config itself does so too, but has its own words for an invalid value. */
    public static final class EnumConverter extends ChoiceConverter<Object> {
        public EnumConverter(Class<?> type) {
            super(List.of(type.getEnumConstants()));
        }
    }
}
