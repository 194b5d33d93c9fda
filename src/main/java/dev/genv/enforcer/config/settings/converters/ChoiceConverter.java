package dev.genv.enforcer.config.settings.converters;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Converts one of a few words, in upper or lower case.
 *
 * @param <T> the type of the constants
 */
@SuppressWarnings("serial")
public abstract class ChoiceConverter<T> extends SettingConverter<T> {
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

    /** Returns the constant of a word. SmallRye Config finds the type in {@code convert}, so each converter declares it. */
    public final T choose(String value) {
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
