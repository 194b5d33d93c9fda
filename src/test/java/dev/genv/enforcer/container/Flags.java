package dev.genv.enforcer.container;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.regex.Pattern;

/** The arguments of {@code docker run}, up to the image. */
final class Flags {
    /** The volume of the database in the README. */
    static final String DATABASE = "genv-enforcer:/var/lib/genv-enforcer";

    private static final Path STATE = Path.of("/var/tmp/genv");
    private static final Pattern COMMAND =
            Pattern.compile("(?m)^(?:ExecStart=/usr/bin/)?docker run ((?:.*\\\\\n)*.*)$");

    private final List<String> arguments;

    Flags(List<String> arguments) {
        this.arguments = new ArrayList<>(arguments);
    }

    /** The flags of the README, except for the folders, the ports and the name. The database is in an anonymous volume. */
    static Flags ofReadme(Path stateDirectory) throws IOException {
        return ofFile("README.md")
                .without("--name", "genv-enforcer")
                .without("-v", DATABASE)
                .replace(mount(STATE), mount(stateDirectory))
                .replace("127.0.0.1:8080:8080", "127.0.0.1::8080")
                .replace("127.0.0.1:9000:9000", "127.0.0.1::9000")
                .without("-e", "GENV_ENFORCER_MODE=audit");
    }

    /** The flags of the first {@code docker run} in a file. */
    static Flags ofFile(String file) throws IOException {
        var command = COMMAND.matcher(Files.readString(Path.of(file)));
        if (!command.find()) {
            throw new IOException(file + " has no docker run");
        }
        var words = List.of(command.group(1).replace("\\\n", " ").strip().split(" +"));
        return new Flags(words.subList(0, words.size() - 1)); // the last argument is the image
    }

    /** The mount of the state directory in the README. */
    static String mount(Path source) {
        return "type=bind,source=%s,target=%s".formatted(source, STATE);
    }

    /** The same flags with others after them. */
    Flags add(String... more) {
        arguments.addAll(List.of(more));
        return this;
    }

    /** Sets a setting, named without its prefix GENV_ENFORCER_. */
    Flags set(String name, Object value) {
        return add("-e", "GENV_ENFORCER_%s=%s".formatted(name, value));
    }

    /** The same flags without these consecutive ones. */
    Flags without(String... words) {
        arguments.subList(find(words), find(words) + words.length).clear();
        return this;
    }

    Flags replace(String word, String other) {
        arguments.set(find(word), other);
        return this;
    }

    private int find(String... words) {
        var at = Collections.indexOfSubList(arguments, List.of(words));
        if (at < 0) {
            throw new IllegalArgumentException(String.join(" ", words) + " is not among " + arguments);
        }
        return at;
    }

    List<String> arguments() {
        return List.copyOf(arguments);
    }
}
