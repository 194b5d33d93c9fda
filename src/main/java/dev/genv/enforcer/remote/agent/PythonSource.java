package dev.genv.enforcer.remote.agent;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A part of the agent as it is sent to machines: without what is there for people only. */
final class PythonSource {
    private static final Pattern DOCSTRING = Pattern.compile("(?ms)^(?<indent> *)\"\"\".*?\"\"\"$");
    private static final int SPACES = 4;

    private PythonSource() {}

    /** Loads a part, which is a resource beside this class. */
    static String load(String part) {
        try (var stream = PythonSource.class.getResourceAsStream(part + ".py")) {
            if (stream == null) {
                throw new IllegalStateException("there is no resource " + part);
            }
            return shorten(new String(stream.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Removes comments and indents by one space. Each docstring becomes a number, because it may be the only statement of a block. */
    static String shorten(String python) {
        return DOCSTRING
                .matcher(python)
                .replaceAll("${indent}0")
                .lines()
                .filter(line -> !line.isBlank() && !line.strip().startsWith("#"))
                .map(line -> " ".repeat((indent(line) + SPACES - 1) / SPACES) + line.strip())
                .collect(Collectors.joining("\n", "", "\n"));
    }

    private static int indent(String line) {
        return line.length() - line.stripLeading().length();
    }
}
