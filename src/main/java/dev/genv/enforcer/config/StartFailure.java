package dev.genv.enforcer.config;

import dev.genv.enforcer.policy.Words;
import io.smallrye.config.ConfigValidationException;
import java.io.IOException;
import java.net.BindException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.channels.UnsupportedAddressTypeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What prevents the service from starting although its own settings are right.
 *
 * @param lines one sentence for each cause
 */
record StartFailure(int exitCode, List<String> lines) {
    static final int EXIT_CODE = 1;
    static final int BAD_SETTINGS = 2;
    private static final int LONGEST = 1000;

    /** The messages of SmallRye Config: a value that it cannot convert, an empty one, and all others. */
    private static final Pattern BAD_VALUE = Pattern.compile(
            "SRCFG[0-9]+: The config property (?<property>\\S+) with the config value \"(?<value>.*)\""
                    + " threw an Exception whilst being converted (?<reason>.*)",
            Pattern.DOTALL);

    private static final Pattern EMPTY_VALUE =
            Pattern.compile("SRCFG[0-9]+: The config property (?<property>\\S+) is defined as the empty String");

    private static final Pattern CONFIG_PROBLEM = Pattern.compile("SRCFG[0-9]+: (?<problem>.*)", Pattern.DOTALL);

    /** Quarkus has no exception of its own for its second port. */
    private static final String MANAGEMENT = "Unable to start the management interface";

    StartFailure {
        lines = List.copyOf(lines);
    }

    /** Checks that the folder for temporary files can be used: the HTTP server makes a folder there. */
    static Optional<String> ofTemporaryFolder(String folder) {
        try {
            Files.delete(Files.createTempDirectory(Path.of(folder), "genv-enforcer"));
            return Optional.empty();
        } catch (IOException | IllegalArgumentException e) {
            return Optional.of(
                    "genv-enforcer cannot start: the folder for temporary files, %s, is not writable; choose another one with -Djava.io.tmpdir (JAVA_OPTS in the image)"
                            .formatted(Words.safe(folder, LONGEST)));
        }
    }

    /**
     * Why Quarkus could not start the service; empty where the cause is none of those that an administrator can remove.
     *
     * @param setting the value of a property of Quarkus
     */
    static Optional<StartFailure> of(Throwable failure, UnaryOperator<String> setting) {
        for (var cause : causes(failure).toList()) {
            if (cause instanceof ConfigValidationException invalid) {
                return Optional.of(new StartFailure(BAD_SETTINGS, badValues(invalid)));
            }
            var reason = whyItCannotListen(cause);
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

    private static List<String> badValues(ConfigValidationException invalid) {
        return IntStream.range(0, invalid.getProblemCount())
                .mapToObj(i -> badValue(String.valueOf(invalid.getProblem(i).getMessage())))
                .toList();
    }

    private static String badValue(String message) {
        var badValue = BAD_VALUE.matcher(message);
        if (badValue.find()) {
            return "%s=%s: %s"
                    .formatted(
                            variable(badValue.group("property")),
                            Words.safe(badValue.group("value"), LONGEST),
                            Words.safe(badValue.group("reason"), LONGEST));
        }
        var emptyValue = EMPTY_VALUE.matcher(message);
        if (emptyValue.find()) {
            return variable(emptyValue.group("property")) + "=: expected a value, or no such variable";
        }
        var problem = CONFIG_PROBLEM.matcher(message);
        return "genv-enforcer cannot start: "
                + Words.safe(problem.find() ? problem.group("problem") : message, LONGEST);
    }

    /** The environment variable that sets a property. */
    private static String variable(String property) {
        return property.replaceAll("[^A-Za-z0-9]", "_").toUpperCase(Locale.ROOT);
    }

    private static Optional<String> whyItCannotListen(Throwable cause) {
        return Optional.ofNullable(
                switch (cause) {
                    case BindException _ -> "the port is taken or the address is not of this machine";
                    case UnknownHostException _ -> "the host name cannot be resolved";
                    case UnresolvedAddressException _, UnsupportedAddressTypeException _ ->
                        "this machine has no such kind of address";
                    case SocketException e -> Words.safe(String.valueOf(e.getMessage()), LONGEST);
                    default -> null;
                });
    }

    private static boolean isOfManagement(Throwable failure) {
        return causes(failure)
                .anyMatch(cause -> String.valueOf(cause.getMessage()).startsWith(MANAGEMENT));
    }

    private static String cannotListen(String reason, boolean isOfManagement, UnaryOperator<String> setting) {
        var prefix = isOfManagement ? "quarkus.management." : "quarkus.http.";
        return "genv-enforcer cannot start: it cannot listen on %s port %s; %s (%s, %s)"
                .formatted(
                        Words.safe(setting.apply(prefix + "host")),
                        Words.safe(setting.apply(prefix + "port")),
                        reason,
                        variable(prefix + "host"),
                        variable(prefix + "port"));
    }
}
