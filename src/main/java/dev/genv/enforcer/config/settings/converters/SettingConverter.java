package dev.genv.enforcer.config.settings.converters;

import org.eclipse.microprofile.config.spi.Converter;
import org.jspecify.annotations.Nullable;

/**
 * Converts the value of a setting. SmallRye Config creates each converter with its public constructor.
 *
 * @param <T> the type of the setting; null means unset
 */
@SuppressWarnings("serial") // required by the interface; a converter is never serialized
public abstract class SettingConverter<T extends @Nullable Object> implements Converter<T> {
    private final String accepted;

    /**
     * Sets what the converter accepts.
     *
     * @param accepted completes the sentence "expected …"
     */
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

    /**
     * Converts a value without blanks around it.
     *
     * @throws IllegalArgumentException saying which values are valid
     */
    @Override
    public abstract T convert(String value);
}
