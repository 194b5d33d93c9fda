package dev.genv.enforcer.config.settings.converters;

import org.eclipse.microprofile.config.spi.Converter;
import org.jspecify.annotations.Nullable;

/**
 * Reads the value of a setting. SmallRye Config makes each converter by its public constructor.
 *
 * @param <T> what it reads; null stands for unset
 */
@SuppressWarnings("serial") // the interface demands it; nobody serialises a converter
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

    /** Which values are valid: the error message and the documentation say it in these words. */
    public final String accepted() {
        return accepted;
    }

    /** What {@link #convert} throws for an invalid value. */
    protected final IllegalArgumentException invalid() {
        return new IllegalArgumentException("expected " + accepted);
    }

    /**
     * Reads a value without blanks around it.
     *
     * @throws IllegalArgumentException saying which values are valid
     */
    @Override
    public abstract T convert(String value);
}
