package dev.genv.enforcer.remote;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A script for the shells of hosts, made of parts that lie beside this class. Until its last line has come, it does nothing. */
final class Script {
    private final String text;

    /** Takes these parts, one behind the other. */
    Script(List<String> parts) {
        text = parts.stream().map(Script::resource).collect(Collectors.joining("\n"));
    }

    /**
     * What is handed to a shell.
     *
     * @param values of the names in capitals
     * @param call the function to call, and what to call it with
     */
    String with(Map<String, String> values, List<String> call) {
        var assignments = values.entrySet().stream()
                .map(each -> each.getKey() + "=" + ShellWords.quote(each.getValue()) + "\n")
                .collect(Collectors.joining());
        var words = call.stream().map(ShellWords::quote).collect(Collectors.joining(" "));
        return "%s\n%s\nmain() {\n  answer %s\n}\nmain </dev/null\n".formatted(assignments, text, words);
    }

    private static String resource(String name) {
        try (var stream = Script.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IllegalStateException("there is no " + name);
            }
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
