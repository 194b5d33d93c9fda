package dev.genv.enforcer.config;

import dev.genv.enforcer.api.connection.ServerConnections;
import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.model.SafeText;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import org.eclipse.microprofile.config.ConfigProvider;
import org.jspecify.annotations.Nullable;

/** The main class of the service. It reads the settings first, and starts nothing else if one is invalid. */
@QuarkusMain
public final class Main {
    /** Runs the service; exits with 2 if a setting is invalid. */
    public static void main(String... arguments) {
        try {
            var settings = Configuration.settings();
            if (arguments.length > 0) {
                System.err.println("genv-enforcer takes no arguments; environment variables configure it");
                System.exit(StartFailure.BAD_SETTINGS);
            }
            if (settings.isSingleCycle()) {
                // A single cycle serves no requests, and standard output contains only its result.
                System.setProperty("quarkus.http.host-enabled", "false");
                System.setProperty("quarkus.management.host-enabled", "false");
                System.setProperty("quarkus.banner.enabled", "false");
                System.setProperty("quarkus.log.console.stderr", "true");
                // Its last lines would be lost at the exit.
                System.setProperty("quarkus.log.console.async.enabled", "false");
            }
            ServerConnections.enable();
            Quarkus.run(Service.class, Main::exit, arguments);
        } catch (InvalidSettingsException e) {
            e.lines().forEach(System.err::println);
            System.exit(StartFailure.BAD_SETTINGS);
        }
    }

    private static void exit(Integer code, @Nullable Throwable failure) {
        System.exit(failure == null ? code : report(code, failure));
    }

    private static int report(int code, Throwable failure) {
        var known = StartFailure.of(failure, Main::quarkusSetting);
        if (known.isPresent()) {
            known.get().lines().forEach(System.err::println);
            return known.get().exitCode();
        }
        System.err.printf("genv-enforcer cannot start: %s%n", SafeText.escape(String.valueOf(failure)));
        failure.printStackTrace(); // a defect, which a developer must find
        return code;
    }

    private static String quarkusSetting(String property) {
        return ConfigProvider.getConfig()
                .getOptionalValue(property, String.class)
                .orElse("");
    }
}
