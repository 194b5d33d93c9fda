package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.config.settings.SettingsReader;
import dev.genv.enforcer.config.settings.reading.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.config.settings.reading.Variables;
import org.jspecify.annotations.Nullable;

/** The settings of this process. The main class and the wiring share them, so that they are read once. */
public final class ProcessSettings {
    private static @Nullable Settings settings;

    private ProcessSettings() {}

    /**
     * Reads them the first time.
     *
     * @throws InvalidSettingsException with every variable that is invalid
     */
    public static synchronized Settings get() throws InvalidSettingsException {
        var known = settings;
        if (known == null) {
            known = SettingsReader.read(Variables.ofProcess());
            settings = known;
        }
        return known;
    }
}
