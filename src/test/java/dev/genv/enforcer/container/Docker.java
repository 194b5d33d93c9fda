package dev.genv.enforcer.container;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** The client of the container engine of the tests, at DOCKER_HOST. */
final class Docker {
    /** The tested image. */
    static final String IMAGE = requiredProperty("tests.image");
    /** The folder that the engine's fake of NVIDIA's runtime mounts into containers. */
    static final Path DRIVER = Path.of(requiredProperty("tests.driver"));

    private Docker() {}

    /** The exit code and the output of the client. Its own warnings are in the errors. */
    record Answer(int exitCode, String output, String errors) {
        /** Output and errors. */
        String text() {
            return output + "\n" + errors;
        }
    }

    /** Runs a command that must succeed. */
    static String run(String... arguments) throws IOException {
        return run(List.of(arguments));
    }

    static String run(List<String> arguments) throws IOException {
        var answer = tryToRun(arguments);
        if (answer.exitCode != 0) {
            throw new IOException("docker %s ended with %d: %s"
                    .formatted(String.join(" ", arguments), answer.exitCode, answer.text()));
        }
        return answer.output;
    }

    static Answer tryToRun(List<String> arguments) throws IOException {
        var command = new ArrayList<>(List.of("docker"));
        command.addAll(arguments);
        var errors = Files.createTempFile("docker", "errors");
        try {
            var process =
                    new ProcessBuilder(command).redirectError(errors.toFile()).start();
            var output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Answer(
                    process.waitFor(), output.strip(), Files.readString(errors).strip());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } finally {
            Files.delete(errors);
        }
    }

    private static String requiredProperty(String property) {
        return Objects.requireNonNull(System.getProperty(property), () -> "these tests want -D" + property);
    }
}
