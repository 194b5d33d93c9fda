package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.SafetySettings.OverwrittenEnviron;
import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.action.ServiceMode;
import dev.genv.enforcer.observation.ObserverSettings;
import dev.genv.enforcer.observation.ObserverSettings.Advice;
import java.nio.file.Path;
import java.util.List;

/** Takes the settings of an observer from those of the service. */
final class ObserverWiring {
    private ObserverWiring() {}

    static ObserverSettings settings(Settings settings, String host, Path stateDirectory, Advice advice) {
        return new ObserverSettings(
                host,
                stateDirectory.toString(),
                List.copyOf(settings.safety().protectedExecutables()),
                List.copyOf(settings.safety().exemptUsers()),
                settings.safety().requireHostPid(),
                settings.general().mode() == ServiceMode.ENFORCE,
                settings.general().terminateProcesses(),
                settings.safety().overwrittenEnviron() == OverwrittenEnviron.OUTSIDE,
                advice,
                settings.gpu().unlistedMemory());
    }
}
