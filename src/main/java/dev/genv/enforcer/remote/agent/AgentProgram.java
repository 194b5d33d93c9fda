package dev.genv.enforcer.remote.agent;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.stream.Collectors;

/** The text of the Python program. Python reads all of it before it runs any, so a program that is cut off does nothing. */
final class AgentProgram {
    private static final String TEXT = load("agent.py");

    private AgentProgram() {}

    /** Returns the program with its request, which is the last line. */
    static String with(byte[] request) {
        return TEXT + "main('" + Base64.getEncoder().encodeToString(request) + "')\n";
    }

    /** Comments are for people, and they are not sent to each machine in each cycle. */
    private static String load(String name) {
        try (var stream = AgentProgram.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IllegalStateException("there is no resource " + name);
            }
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> !line.isBlank() && !line.strip().startsWith("#"))
                    .collect(Collectors.joining("\n", "", "\n"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
