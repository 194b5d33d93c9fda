package dev.genv.enforcer.config;

import dev.genv.enforcer.api.connection.ServerConnections;
import dev.genv.enforcer.config.settings.InvalidSettingsException;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Where the service starts: first the settings, for with bad ones nothing else is even tried. */
@QuarkusMain
public final class Main {
    private static final int BAD_SETTINGS = 2;

    /** Runs the service; ends with 2 where a setting is bad. */
    public static void main(String... arguments) {
        ConsoleOutput.install();
        try {
            var settings = ProcessSettings.get();
            if (arguments.length > 0) {
                System.err.println("genv-enforcer takes no arguments; it is set by environment variables");
                System.exit(BAD_SETTINGS);
            }
            if (settings.isSingleCycle()) {
                // A single cycle has nothing to serve, and standard output is for what it found.
                System.setProperty("quarkus.http.host-enabled", "false");
                System.setProperty("quarkus.management.host-enabled", "false");
                System.setProperty("quarkus.banner.enabled", "false");
                System.setProperty("quarkus.log.console.stderr", "true");
            } else {
                require(StartFailure.ofTemporaryFolder(System.getProperty("java.io.tmpdir", "")));
            }
            ServerConnections.enable(DescriptorLimit.connectionsPerPort());
            Quarkus.run(Service.class, Main::exit, arguments);
        } catch (InvalidSettingsException e) {
            e.lines().forEach(System.err::println);
            System.exit(BAD_SETTINGS);
        }
    }

    private static void require(Optional<String> problem) {
        if (problem.isPresent()) {
            System.err.println(problem.get());
            System.exit(StartFailure.EXIT_CODE);
        }
    }

    private static void exit(Integer code, @Nullable Throwable failure) {
        if (failure != null) {
            StartFailure.print(failure);
        }
        System.exit(code);
    }
}
