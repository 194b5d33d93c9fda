package dev.genv.enforcer.config.settings;

import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import java.util.List;
import java.util.Map;

/** Reads settings from given variables instead of those of this process. */
public final class SettingsReading {
    private SettingsReading() {}

    /** Reads the settings from these variables alone. */
    public static Settings read(Map<String, String> environment) throws InvalidSettingsException {
        return SettingsReader.read(new Variables(environment));
    }

    /** Reads invalid settings, and returns the line of each error. */
    static List<String> errors(Map<String, String> environment) {
        return catchThrowableOfType(InvalidSettingsException.class, () -> read(environment))
                .lines();
    }
}
