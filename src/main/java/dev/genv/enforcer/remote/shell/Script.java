package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.remote.ShellWords;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A script for the shells of hosts, made of parts that lie beside this class. Until its last line has come, it does nothing. */
final class Script {
    private static final int ROOM_FOR_VALUES = 4 << 10;

    private final String text;

    /** Takes these parts, one behind the other. */
    Script(List<String> parts) {
        text = parts.stream().map(Script::resource).collect(Collectors.joining("\n"));
    }

    /**
     * What is handed to a shell.
     *
     * @param values of the names in capitals
     * @param function the one that is called
     * @param calls what it does when it comes to that, each a function and what to call it with
     */
    String with(Map<String, String> values, String function, List<List<String>> calls) {
        var whole = new StringBuilder(text.length() + ROOM_FOR_VALUES);
        values.forEach((name, value) ->
                whole.append(name).append('=').append(ShellWords.quote(value)).append('\n'));
        whole.append(text).append("\ncalls() {\n  :\n");
        for (var call : calls) {
            whole.append("  ")
                    .append(call.stream().map(ShellWords::quote).collect(Collectors.joining(" ")))
                    .append('\n');
        }
        return whole.append("}\nmain() {\n  answer ")
                .append(function)
                .append("\n}\nmain </dev/null\n")
                .toString();
    }

    private static String resource(String name) {
        try (var stream = Script.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IllegalStateException("there is no " + name);
            }
            // What is there for people is not sent to every machine in every cycle.
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.startsWith("#"))
                    .collect(Collectors.joining("\n"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
