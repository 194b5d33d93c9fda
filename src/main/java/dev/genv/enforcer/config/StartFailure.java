package dev.genv.enforcer.config;

import dev.genv.enforcer.policy.Words;
import io.quarkus.runtime.QuarkusBindException;
import java.io.IOException;
import java.net.BindException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;

/** What prevents the service from starting although its settings are right. Each is reported in one sentence. */
final class StartFailure {
    static final int EXIT_CODE = 1;
    private static final int LONGEST = 1000;

    private StartFailure() {}

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

    /** Prints why Quarkus could not start or run the service; with a stack trace where that may need a developer. */
    static void print(Throwable failure) {
        if (first(BindException.class, failure).isEmpty()) {
            System.err.printf("genv-enforcer cannot start: %s%n", Words.safe(String.valueOf(failure), LONGEST));
            failure.printStackTrace();
            return;
        }
        var api = first(QuarkusBindException.class, failure);
        System.err.printf(
                "genv-enforcer cannot start: it cannot listen on %s; the port is taken or the address is not of this machine (%s)%n",
                api.map(bind -> "%s port %d".formatted(Words.safe(String.valueOf(bind.getHost())), bind.getPort()))
                        .orElse("the management port"),
                api.isPresent()
                        ? "QUARKUS_HTTP_HOST, QUARKUS_HTTP_PORT"
                        : "QUARKUS_MANAGEMENT_HOST, QUARKUS_MANAGEMENT_PORT");
    }

    private static <T> Optional<T> first(Class<T> kind, Throwable failure) {
        return Stream.iterate(failure, Objects::nonNull, Throwable::getCause)
                .filter(kind::isInstance)
                .map(kind::cast)
                .findFirst();
    }
}
