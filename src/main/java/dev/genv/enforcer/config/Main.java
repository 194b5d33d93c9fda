package dev.genv.enforcer.config;

import dev.genv.enforcer.api.connection.ServerConnections;
import dev.genv.enforcer.api.security.ApiTls;
import dev.genv.enforcer.api.security.ApiTls.UnusableTlsFilesException;
import dev.genv.enforcer.config.CommandLine.UsageException;
import dev.genv.enforcer.config.settings.Variables;
import dev.genv.enforcer.config.settings.Variables.InvalidSettingsException;
import dev.genv.enforcer.model.SafeText;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import io.smallrye.config.ConfigValidationException;
import java.net.BindException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.eclipse.microprofile.config.ConfigProvider;
import org.jspecify.annotations.Nullable;

/** The main class of the service. It reads the settings first, and starts nothing else if one is invalid. */
@QuarkusMain
public final class Main {
    /** Runs the service, with genv's command line or without arguments; exits with 2 if an argument or a setting is invalid. */
    public static void main(String... arguments) {
        try {
            CommandLine.parse(List.of(arguments), System.getenv(), Path.of(System.getProperty("user.home")))
                    .forEach(Variables::override);
            var settings = Configuration.settings();
            if (settings.isSingleCycle()) {
                // A single cycle serves no requests, and standard output contains only its result.
                System.setProperty("quarkus.http.host-enabled", "false");
                System.setProperty("quarkus.management.host-enabled", "false");
                System.setProperty("quarkus.banner.enabled", "false");
                System.setProperty("quarkus.log.console.stderr", "true");
                // Its last lines would be lost at the exit.
                System.setProperty("quarkus.log.console.async.enabled", "false");
                logOnlyErrors();
            } else if (settings.http().tlsCertificateFile().isPresent()) {
                System.setProperty("quarkus.http.tls-configuration-name", ApiTls.NAME);
                System.setProperty("quarkus.http.insecure-requests", "disabled");
                System.setProperty("quarkus.tls." + ApiTls.NAME + ".reload-period", "2s");
                // As at the start: otherwise the first reload would offer HTTP/2, and close connections that clients
                // open meanwhile.
                System.setProperty("quarkus.tls." + ApiTls.NAME + ".alpn", "false");
            }
            if (Journal.reads(settings.isSingleCycle() ? Journal.ERR : Journal.OUT, System.getenv())) {
                Journal.omitTimes();
            }
            findSqlite();
            ServerConnections.enable();
            Quarkus.run(Service.class, Main::exit, arguments);
        } catch (UsageException e) {
            (e.exitCode() == 0 ? System.out : System.err).println(e.getMessage());
            System.exit(e.exitCode());
        } catch (InvalidSettingsException e) {
            e.lines().forEach(Journal::error);
            System.exit(StartFailure.BAD_SETTINGS);
        }
    }

    /** A cron job mails each line, so a single cycle logs more only if a variable asks for it. */
    private static void logOnlyErrors() {
        if (System.getenv("QUARKUS_LOG_LEVEL") == null && System.getenv("QUARKUS_LOG_CONSOLE_LEVEL") == null) {
            System.setProperty("quarkus.log.console.level", "ERROR");
        }
    }

    /** SQLite's driver would otherwise unpack its library to the folder for temporary files, which every user can write to. */
    private static void findSqlite() {
        var platform = System.getProperty("os.arch").equals("aarch64") ? "aarch64" : "x86_64";
        var folder = Path.of(System.getProperty("java.class.path"))
                .resolveSibling("native/org/sqlite/native/Linux")
                .resolve(platform);
        if (System.getProperty("org.sqlite.lib.path") == null && Files.isDirectory(folder)) {
            System.setProperty("org.sqlite.lib.path", folder.toString());
        }
    }

    private static void exit(Integer code, @Nullable Throwable failure) {
        System.exit(failure == null ? code : report(code, failure));
    }

    private static int report(int code, Throwable failure) {
        var known = StartFailure.of(failure, Main::quarkusSetting);
        if (known.isPresent()) {
            known.get().lines().forEach(Journal::error);
            return known.get().exitCode();
        }
        Journal.error(StartFailure.cannotStart(String.valueOf(failure)));
        failure.printStackTrace(); // a defect, which a developer must find
        return code;
    }

    private static String quarkusSetting(String property) {
        return ConfigProvider.getConfig()
                .getOptionalValue(property, String.class)
                .orElse("");
    }

    /** The reason why the service cannot start although its own settings are valid, with one sentence for each cause. */
    record StartFailure(int exitCode, List<String> lines) {
        static final int EXIT_CODE = 1;
        static final int BAD_SETTINGS = 2;
        private static final int LONGEST = 1000;

        /** The exception and the code before a problem of SmallRye Config. */
        private static final String CODE = "(?s)^.*?SRCFG[0-9]+: ";

        /** Quarkus has no specific exception for its second port. */
        private static final String MANAGEMENT = "Unable to start the management interface";

        StartFailure {
            lines = List.copyOf(lines);
        }

        /** Returns why Quarkus could not start the service; empty if an administrator cannot remove the cause. */
        static Optional<StartFailure> of(Throwable failure, UnaryOperator<String> setting) {
            for (var cause : causes(failure).toList()) {
                if (cause instanceof ConfigValidationException invalid) {
                    return Optional.of(new StartFailure(
                            BAD_SETTINGS,
                            IntStream.range(0, invalid.getProblemCount())
                                    .mapToObj(i -> cannotStart(
                                            String.valueOf(invalid.getProblem(i).getMessage())
                                                    .replaceFirst(CODE, "")))
                                    .toList()));
                }
                if (cause instanceof UnusableTlsFilesException) {
                    return Optional.of(
                            new StartFailure(BAD_SETTINGS, List.of(cannotStart(String.valueOf(cause.getMessage())))));
                }
                var reason = listenFailure(cause);
                if (reason.isPresent()) {
                    return Optional.of(new StartFailure(
                            EXIT_CODE, List.of(cannotListen(reason.get(), isOfManagement(failure), setting))));
                }
            }
            return Optional.empty();
        }

        private static Stream<Throwable> causes(Throwable failure) {
            return Stream.iterate(failure, Objects::nonNull, Throwable::getCause);
        }

        private static String cannotStart(String why) {
            return "genv-enforcer cannot start: " + SafeText.escape(why, LONGEST);
        }

        private static Optional<String> listenFailure(Throwable cause) {
            return Optional.ofNullable(
                    switch (cause) {
                        case BindException _ -> "the port is in use, or this machine does not have the address";
                        case UnknownHostException _ -> "the host name cannot be resolved";
                        case UnresolvedAddressException _, UnsupportedAddressTypeException _ ->
                            "this machine does not support this kind of address";
                        case SocketException e -> String.valueOf(e.getMessage());
                        default -> null;
                    });
        }

        private static boolean isOfManagement(Throwable failure) {
            return causes(failure)
                    .anyMatch(cause -> String.valueOf(cause.getMessage()).startsWith(MANAGEMENT));
        }

        private static String cannotListen(String reason, boolean isOfManagement, UnaryOperator<String> setting) {
            var prefix = isOfManagement ? "quarkus.management." : "quarkus.http.";
            return cannotStart("it cannot listen on %s port %s; %s (%s, %s)"
                    .formatted(
                            setting.apply(prefix + "host"),
                            setting.apply(prefix + "port"),
                            reason,
                            Variables.nameOf(prefix + "host"),
                            Variables.nameOf(prefix + "port")));
        }
    }
}
