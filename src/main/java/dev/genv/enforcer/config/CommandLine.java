package dev.genv.enforcer.config;

import dev.genv.enforcer.linux.Errno;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The commands {@code genv enforce} and {@code genv remote … enforce} with all their flags, as settings of this service. Help and errors
 * have the form of Python's argparse, which genv uses. The flags of both commands may stand before and after each word.
 */
final class CommandLine {
    private static final List<Flag> FLAGS = List.of(
            new Flag("", Kind.HELP, "", "-h", "--help"),
            new Flag("", Kind.VERSION, "", "--version"),
            new Flag("INTERVAL", Kind.INTEGER, "INTERVAL", "--interval"),
            new Flag("NON_ENV_PROCESSES", Kind.SWITCH, "enforce", "--non-env-processes"),
            new Flag("NON_ENV_PROCESSES", Kind.SWITCH, "off", "--no-non-env-processes"),
            new Flag("ENV_DEVICES", Kind.SWITCH, "enforce", "--env-devices"),
            new Flag("ENV_DEVICES", Kind.SWITCH, "off", "--no-env-devices"),
            new Flag("ENV_MEMORY", Kind.SWITCH, "enforce", "--env-memory"),
            new Flag("ENV_MEMORY", Kind.SWITCH, "off", "--no-env-memory"),
            new Flag("MAX_DEVICES_PER_USER", Kind.INTEGER, "MAXIMUM", "--max-devices-per-user"),
            new Flag("MAX_DEVICES_FOR_USER", Kind.LIMITS, "username=maximum", "--max-devices-for-user"),
            new Flag("REMOTE_HOSTS", Kind.TEXT, "HOSTNAMES", "-H", "-host", "--host", "--hostnames"),
            new Flag("REMOTE_HOSTFILE", Kind.FILE, "HOSTFILE", "-hostfile", "--hostfile"),
            new Flag("REMOTE_USERNAME", Kind.TEXT, "USERNAME", "-l", "--username"),
            new Flag("REMOTE_TIMEOUT", Kind.INTEGER, "TIMEOUT", "-t", "--timeout"),
            new Flag("REMOTE_EXIT_ON_ERROR", Kind.SWITCH, "true", "-e", "--exit-on-error"),
            new Flag("REMOTE_QUIET", Kind.SWITCH, "true", "-q", "--quiet"));

    private static final String VARIABLE = "GENV_ENFORCER_";

    private final Deque<String> arguments;
    private final List<String> words = new ArrayList<>();
    private final Map<String, Flag> given = new HashMap<>();
    private final Map<String, String> settings = new HashMap<>();

    private CommandLine(List<String> arguments) {
        this.arguments = new ArrayDeque<>(arguments);
    }

    private enum Kind {
        HELP,
        VERSION,
        SWITCH,
        INTEGER,
        TEXT,
        FILE,
        LIMITS
    }

    /**
     * A flag.
     *
     * @param setting the variable that means the same, without its prefix
     * @param value that of a switch, or else the name of the value in the help
     */
    private record Flag(String setting, Kind kind, String value, List<String> names) {
        Flag(String setting, Kind kind, String value, String... names) {
            this(setting, kind, value, List.of(names));
        }

        private String valueText() {
            return switch (kind) {
                case HELP, VERSION, SWITCH -> "";
                case INTEGER, TEXT, FILE -> " " + value;
                case LIMITS -> " %s ...".formatted(value);
            };
        }

        String help() {
            return switch (kind) {
                case HELP -> "show this help message and exit";
                case VERSION -> "show the version and exit";
                case SWITCH -> "%s%s=%s".formatted(VARIABLE, setting, value);
                case INTEGER, TEXT, FILE, LIMITS -> VARIABLE + setting;
            };
        }

        UsageException error(String reason) {
            return CommandLine.error("argument %s: %s".formatted(String.join("/", names), reason));
        }
    }

    /** The text that ends the program, and its exit code: 0 for the help and the version, 2 for a wrong argument. */
    static final class UsageException extends Exception {
        private static final long serialVersionUID = 1;

        private final int exitCode;

        private UsageException(int exitCode, String text) {
            super(text);
            this.exitCode = exitCode;
        }

        int exitCode() {
            return exitCode;
        }
    }

    /**
     * Returns the values of settings, by the variables that mean the same, without their prefix. Over SSH the files of this user that
     * OpenSSH uses, and so genv, apply unless a variable names others.
     */
    static Map<String, String> parse(List<String> arguments, Map<String, String> environment, Path home)
            throws UsageException {
        if (arguments.isEmpty()) {
            return Map.of();
        }
        var line = new CommandLine(arguments);
        line.read();
        line.checkWords();
        if (line.isRemote()) {
            line.addFilesOfOpenSsh(home.resolve(".ssh"), environment);
        }
        if ("0".equals(line.settings.get("INTERVAL"))) {
            line.settings.put("DATA_DIR", ""); // the image sets one, which a single cycle does not use
        }
        return line.settings;
    }

    /** A key is among them only if neither the configuration nor an agent has others. */
    private void addFilesOfOpenSsh(Path folder, Map<String, String> environment) throws UsageException {
        if (environment.getOrDefault(VARIABLE + "REMOTE_KNOWN_HOSTS", "").isBlank()) {
            settings.put(
                    "REMOTE_KNOWN_HOSTS",
                    folder.resolve("known_hosts").toString()); // required, so that a missing one is an error
        }
        addIfReadable("REMOTE_SSH_CONFIG", folder.resolve("config"), environment);
        var configuration = settings.getOrDefault("REMOTE_SSH_CONFIG", environment.get(VARIABLE + "REMOTE_SSH_CONFIG"));
        var agent = environment.getOrDefault("SSH_AUTH_SOCK", "");
        if ((agent.isBlank() || Files.notExists(Path.of(agent))) && !namesKeys(configuration)) {
            for (var type : List.of("rsa", "ecdsa", "ed25519")) {
                addIfReadable("REMOTE_IDENTITY_FILE", folder.resolve("id_" + type), environment);
            }
        }
    }

    private void addIfReadable(String setting, Path file, Map<String, String> environment) {
        if (environment.getOrDefault(VARIABLE + setting, "").isBlank() && Files.isReadable(file)) {
            settings.putIfAbsent(setting, file.toString());
        }
    }

    private static boolean namesKeys(@Nullable String configuration) throws UsageException {
        try {
            return configuration != null
                    && Files.readString(Path.of(configuration), StandardCharsets.ISO_8859_1)
                            .toLowerCase(Locale.ROOT)
                            .contains("identityfile");
        } catch (IOException e) {
            throw error("%s: %s".formatted(configuration, Errno.textOf(e)));
        }
    }

    private boolean isRemote() {
        return given.containsKey("REMOTE_HOSTS") || given.containsKey("REMOTE_HOSTFILE");
    }

    private void read() throws UsageException {
        while (!arguments.isEmpty()) {
            var argument = arguments.remove();
            if (isFlag(argument)) {
                read(argument);
            } else {
                words.add(argument);
            }
        }
    }

    private void checkWords() throws UsageException {
        for (var word : words) {
            if (!word.equals("enforce") && !word.equals("remote")) {
                throw error(
                        "argument SUBCOMMAND: invalid choice: '%s' (choose from 'enforce', 'remote')".formatted(word));
            }
        }
        if (!words.contains("enforce")) {
            throw error("the following arguments are required: enforce");
        }
        if (given.containsKey("REMOTE_HOSTS") && given.containsKey("REMOTE_HOSTFILE")) {
            throw error("argument -hostfile/--hostfile: not allowed with argument -H/-host/--host");
        }
        if (words.contains("remote") && !isRemote()) {
            throw error("one of the arguments -H/-host/--host -hostfile/--hostfile is required");
        }
    }

    private static boolean isFlag(String argument) {
        return argument.startsWith("-") && !argument.matches("-[0-9]*");
    }

    /** Reads a flag with its value, which may be attached by an equals sign, or without one to a short name. */
    private void read(String argument) throws UsageException {
        var equals = argument.indexOf('=');
        var name = equals < 0 ? argument : argument.substring(0, equals);
        var attached = equals < 0 ? null : argument.substring(equals + 1);
        var flags = flags(name);
        if (flags.isEmpty() && !name.startsWith("--")) {
            flags = flags(argument.substring(0, 2));
            attached = argument.substring(2);
        }
        if (flags.isEmpty()) {
            throw error("unrecognized arguments: " + argument);
        }
        if (flags.size() > 1) {
            var names = flags.stream().map(each -> each.names.getLast()).collect(Collectors.joining(", "));
            throw error("ambiguous option: %s could match %s".formatted(name, names));
        }
        var flag = flags.getFirst();
        var former = given.put(flag.setting, flag);
        if (former != null && !former.equals(flag)) {
            throw flag.error("not allowed with argument " + String.join("/", former.names));
        }
        if (flag.kind == Kind.SWITCH && attached != null) {
            if (equals >= 0) {
                throw flag.error("ignored explicit argument '%s'".formatted(attached));
            }
            arguments.addFirst("-" + attached); // -qe means -q -e
        }
        settings.put(flag.setting, values(flag, attached));
    }

    /** Returns the flag of this name, or those of which it is the beginning. */
    private static List<Flag> flags(String name) {
        var exact = FLAGS.stream().filter(flag -> flag.names.contains(name)).toList();
        return exact.isEmpty() && name.startsWith("--")
                ? FLAGS.stream()
                        .filter(flag -> flag.names.stream().anyMatch(each -> each.startsWith(name)))
                        .toList()
                : exact;
    }

    private String values(Flag flag, @Nullable String attached) throws UsageException {
        return switch (flag.kind) {
            case HELP -> throw new UsageException(0, help());
            case VERSION -> throw new UsageException(0, "genv-enforcer " + version());
            case SWITCH -> flag.value;
            case INTEGER -> integer(flag, value(flag, attached, "one argument"));
            case TEXT -> value(flag, attached, "one argument");
            case FILE ->
                Path.of(value(flag, attached, "one argument")).toAbsolutePath().toString();
            case LIMITS -> limits(flag, value(flag, attached, "at least one argument"));
        };
    }

    private static String integer(Flag flag, String value) throws UsageException {
        if (value.matches("[+-]?[0-9]+")) {
            return value;
        }
        throw flag.error("invalid int value: '%s'".formatted(value));
    }

    /** Also reads the arguments that follow the first one. */
    private String limits(Flag flag, String first) throws UsageException {
        var limits = new ArrayList<>(List.of(first));
        while (!arguments.isEmpty() && !isFlag(arguments.getFirst())) {
            limits.add(arguments.remove());
        }
        for (var limit : limits) {
            if (!limit.matches("[^=]*=[+-]?[0-9]+")) {
                throw flag.error("not a valid spec: " + limit);
            }
        }
        return String.join(",", limits);
    }

    private String value(Flag flag, @Nullable String attached, String expected) throws UsageException {
        if (attached != null) {
            return attached;
        }
        if (arguments.isEmpty() || isFlag(arguments.getFirst())) {
            throw flag.error("expected " + expected);
        }
        return arguments.remove();
    }

    /** Returns the version of the own jar. An AOT cache keeps no version of a package, so the manifest is read. */
    private static String version() {
        try {
            for (var manifest :
                    Collections.list(CommandLine.class.getClassLoader().getResources("META-INF/MANIFEST.MF"))) {
                try (var content = manifest.openStream()) {
                    var attributes = new Manifest(content).getMainAttributes();
                    var version = attributes.getValue(Attributes.Name.IMPLEMENTATION_VERSION);
                    if (version != null
                            && "genv-enforcer".equals(attributes.getValue(Attributes.Name.IMPLEMENTATION_TITLE))) {
                        return version;
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return "(not packaged)";
    }

    private static UsageException error(String reason) {
        return new UsageException(2, "%s\ngenv-enforcer: error: %s".formatted(usage(), reason));
    }

    private static String usage() {
        return "usage: genv-enforcer [remote] enforce "
                + FLAGS.stream()
                        .map(flag -> "[%s%s]".formatted(flag.names.getFirst(), flag.valueText()))
                        .collect(Collectors.joining(" "));
    }

    private static String help() {
        return FLAGS.stream()
                .map(flag -> "  %-48s %s".formatted(String.join(", ", flag.names) + flag.valueText(), flag.help()))
                .collect(
                        Collectors.joining("\n", usage() + "\n\noptions, and the variables that mean the same:\n", ""));
    }
}
