package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Variables;
import dev.genv.enforcer.linux.Errno;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;

/**
 * The commands {@code genv enforce} and {@code genv remote … enforce} with all their flags, as settings of this service. The flags of both
 * commands may stand before and after each word, and be abbreviated as in genv.
 */
final class CommandLine {
    private static final List<Flag> FLAGS = List.of(
            new Flag("INTERVAL", Integer.class, "INTERVAL", "--interval"),
            new Flag("NON_ENV_PROCESSES", "enforce", "--non-env-processes"),
            new Flag("NON_ENV_PROCESSES", "off", "--no-non-env-processes"),
            new Flag("ENV_DEVICES", "enforce", "--env-devices"),
            new Flag("ENV_DEVICES", "off", "--no-env-devices"),
            new Flag("ENV_MEMORY", "enforce", "--env-memory"),
            new Flag("ENV_MEMORY", "off", "--no-env-memory"),
            new Flag("MAX_DEVICES_PER_USER", Integer.class, "MAXIMUM", "--max-devices-per-user"),
            new Flag("MAX_DEVICES_FOR_USER", List.class, "username=maximum", "--max-devices-for-user"),
            new Flag("REMOTE_HOSTS", String.class, "HOSTNAMES", "-H", "-host", "--host", "--hostnames"),
            new Flag("REMOTE_HOSTFILE", Path.class, "HOSTFILE", "-hostfile", "--hostfile"),
            new Flag("REMOTE_USERNAME", String.class, "USERNAME", "-l", "--username"),
            new Flag("REMOTE_TIMEOUT", Integer.class, "TIMEOUT", "-t", "--timeout"),
            new Flag("REMOTE_EXIT_ON_ERROR", "true", "-e", "--exit-on-error"),
            new Flag("REMOTE_QUIET", "true", "-q", "--quiet"));

    private static final String VARIABLE = "GENV_ENFORCER_";

    private CommandLine() {}

    /**
     * A flag.
     *
     * @param setting the variable that means the same, without its prefix
     * @param type of its value; a switch has none on the command line
     * @param value that of a switch, or else its name in the help
     */
    private record Flag(String setting, Class<?> type, String value, List<String> names) {
        Flag(String setting, Class<?> type, String value, String... names) {
            this(setting, type, value, List.of(names));
        }

        Flag(String setting, String value, String... names) {
            this(setting, boolean.class, value, List.of(names));
        }

        OptionSpec option() {
            var option = OptionSpec.builder(names.toArray(String[]::new))
                    .type(type)
                    .paramLabel(value)
                    .description(VARIABLE + setting + (type == boolean.class ? "=" + value : ""));
            if (type == boolean.class) {
                option.arity("0");
            } else if (type == List.class) {
                option.arity("1..*").auxiliaryTypes(String.class).converters(Flag::limit);
            }
            return option.build();
        }

        private static String limit(String text) {
            if (text.matches("[^=]*=[+-]?[0-9]+")) {
                return text;
            }
            throw new TypeConversionException("'%s' is not username=maximum".formatted(text));
        }

        /** A flag that is misspelt must not become the value of another one. */
        void check(List<String> values) throws UsageException {
            for (var text : type == Integer.class ? List.<String>of() : values) {
                if (text.startsWith("-")) {
                    throw error("Expected parameter for option '%s' but found '%s'".formatted(names.getLast(), text));
                }
            }
        }

        /** Which flags exclude each other. */
        String group() {
            return setting.replace("HOSTFILE", "HOSTS");
        }

        String valueOf(Object given) {
            return switch (given) {
                case Boolean _ -> value;
                case Path file -> file.toAbsolutePath().toString();
                case Collection<?> all -> all.stream().map(Object::toString).collect(Collectors.joining(","));
                default -> given.toString();
            };
        }
    }

    /**
     * The text that ends the program, and its exit code: 0 for the help, the version and a valid policy, 1 for an invalid policy, 2 for a wrong
     * argument.
     */
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
        if (arguments.getFirst().equals("policy")) {
            throw policy(arguments);
        }
        var settings = read(arguments);
        if (isRemote(settings)) {
            addFilesOfOpenSsh(settings, home.resolve(".ssh"), environment);
        }
        if ("0".equals(settings.get("INTERVAL"))) {
            settings.put("DATA_DIR", ""); // the image sets one, which a single cycle does not use
        }
        return settings;
    }

    /** Returns the answer to {@code policy check FILE}. */
    private static UsageException policy(List<String> arguments) {
        if (arguments.size() != 3 || !arguments.get(1).equals("check")) {
            return error("Expected: policy check FILE");
        }
        var check =
                PolicyCheck.of(Path.of(arguments.get(2)), Variables.ofProcess(), Instant.now(), ZoneId.systemDefault());
        return new UsageException(check.exitCode(), check.text());
    }

    private static boolean isRemote(Map<String, String> settings) {
        return settings.containsKey("REMOTE_HOSTS") || settings.containsKey("REMOTE_HOSTFILE");
    }

    private static Map<String, String> read(List<String> arguments) throws UsageException {
        var words = PositionalParamSpec.builder()
                .type(List.class)
                .auxiliaryTypes(String.class)
                .index("0..*")
                .arity("1")
                .required(true)
                .paramLabel("[remote] enforce")
                .hideParamSyntax(true)
                .build();
        var command = command(words);
        for (var argument : arguments) {
            if (argument.matches("|-|--?=.*")) { // on which picocli fails
                throw error("Unknown option: '%s'".formatted(argument));
            }
        }
        try {
            var parsed = command.parseArgs(arguments.toArray(String[]::new));
            if (parsed.isUsageHelpRequested()) {
                throw new UsageException(0, command.getUsageMessage(Ansi.OFF));
            }
            if (parsed.isVersionHelpRequested()) {
                throw new UsageException(0, "genv-enforcer " + version());
            }
            var settings = new HashMap<String, String>();
            var given = new HashMap<String, Flag>();
            for (var flag : FLAGS) {
                var option = parsed.matchedOption(flag.names.getFirst());
                if (option != null) {
                    flag.check(option.stringValues());
                    settings.put(flag.setting, flag.valueOf(option.getValue()));
                    var other = given.put(flag.group(), flag);
                    if (other != null) {
                        throw error(
                                "%s and %s exclude each other".formatted(other.names.getLast(), flag.names.getLast()));
                    }
                }
            }
            List<String> commands = words.getValue();
            if (!commands.contains("enforce") || !List.of("enforce", "remote").containsAll(commands)) {
                throw error("Unknown command '%s': expected [remote] enforce".formatted(String.join(" ", commands)));
            }
            if (commands.contains("remote") && !isRemote(settings)) {
                throw error("Missing required option: --host or --hostfile");
            }
            return settings;
        } catch (ParameterException e) {
            throw error(String.valueOf(e.getMessage()).replaceFirst("^Error: ", ""));
        }
    }

    private static picocli.CommandLine command(PositionalParamSpec words) {
        var spec = CommandSpec.create().name("genv-enforcer").addPositional(words);
        spec.addOption(OptionSpec.builder("-h", "--help")
                .usageHelp(true)
                .description("show this help message and exit")
                .build());
        spec.addOption(OptionSpec.builder("--version")
                .versionHelp(true)
                .description("show the version and exit")
                .build());
        FLAGS.forEach(flag -> spec.addOption(flag.option()));
        spec.usageMessage()
                .width(120)
                .sortOptions(false)
                .description("The variables beside the options mean the same.")
                .footer(
                        "",
                        "genv-enforcer policy check FILE  prints the errors of a policy file, or what it changes now");
        return new picocli.CommandLine(spec)
                .setAbbreviatedOptionsAllowed(true)
                .setOverwrittenOptionsAllowed(true)
                .setExpandAtFiles(false);
    }

    /** A key is among them only if neither the configuration nor an agent has others. */
    private static void addFilesOfOpenSsh(Map<String, String> settings, Path folder, Map<String, String> environment)
            throws UsageException {
        if (environment.getOrDefault(VARIABLE + "REMOTE_KNOWN_HOSTS", "").isBlank()) {
            settings.put(
                    "REMOTE_KNOWN_HOSTS",
                    folder.resolve("known_hosts").toString()); // required, so that a missing one is an error
        }
        addIfReadable(settings, "REMOTE_SSH_CONFIG", folder.resolve("config"), environment);
        var configuration = settings.getOrDefault("REMOTE_SSH_CONFIG", environment.get(VARIABLE + "REMOTE_SSH_CONFIG"));
        var agent = environment.getOrDefault("SSH_AUTH_SOCK", "");
        if ((agent.isBlank() || Files.notExists(Path.of(agent))) && !namesKeys(configuration)) {
            for (var type : List.of("rsa", "ecdsa", "ed25519")) {
                addIfReadable(settings, "REMOTE_IDENTITY_FILE", folder.resolve("id_" + type), environment);
            }
        }
    }

    private static void addIfReadable(
            Map<String, String> settings, String setting, Path file, Map<String, String> environment) {
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
        return new UsageException(
                2, "genv-enforcer: error: %s%nTry 'genv-enforcer --help' for the options.".formatted(reason));
    }
}
