package dev.genv.enforcer.config;

import dev.genv.enforcer.api.connection.ServerConnections;
import dev.genv.enforcer.policy.Words;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.util.Optional;
import org.eclipse.microprofile.config.ConfigProvider;
import org.jspecify.annotations.Nullable;

/** Where the service starts: first the settings, for with bad ones nothing else is even tried. */
@QuarkusMain
public final class Main {
    /** Runs the service; ends with 2 where a setting is bad. */
    public static void main(String... arguments) {
        ConsoleOutput.install();
        try {
            var settings = Settings.read(Variables.ofProcess());
            if (arguments.length > 0) {
                System.err.println("genv-enforcer takes no arguments; it is set by environment variables");
                System.exit(StartFailure.BAD_SETTINGS);
            }
            if (settings.interval().isZero()) {
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
        } catch (BadSettingsException e) {
            e.lines().forEach(System.err::println);
            System.exit(StartFailure.BAD_SETTINGS);
        }
    }

    private static void require(Optional<String> problem) {
        if (problem.isPresent()) {
            System.err.println(problem.get());
            System.exit(StartFailure.EXIT_CODE);
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
        System.err.printf("genv-enforcer cannot start: %s%n", Words.safe(String.valueOf(failure)));
        failure.printStackTrace(); // a defect, which a developer must find
        return code;
    }

    private static String quarkusSetting(String property) {
        return ConfigProvider.getConfig()
                .getOptionalValue(property, String.class)
                .orElse("");
    }
}
