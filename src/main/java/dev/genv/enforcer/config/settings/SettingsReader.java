package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingErrors.InvalidSettingsException;
import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.config.settings.Settings.DataSettings;
import dev.genv.enforcer.config.settings.Settings.GpuSettings;
import dev.genv.enforcer.config.settings.Settings.StateSettings;
import dev.genv.enforcer.config.settings.Variables.UnknownVariables;
import dev.genv.enforcer.model.Memory;
import dev.genv.enforcer.notification.MailSender.MailServer.Tls;
import dev.genv.enforcer.policy.RuleConfig;
import dev.genv.enforcer.policy.RuleDefinition;
import dev.genv.enforcer.remote.ssh.SshAccess;
import io.smallrye.config.ConfigMappingInterface.LeafProperty;
import io.smallrye.config.ConfigMappingInterface.Property;
import io.smallrye.config.ConfigMappings;
import io.smallrye.config.ConfigMappings.ConfigClass;
import io.smallrye.config.ConfigValidationException;
import io.smallrye.config.Converters;
import io.smallrye.config.PropertiesConfigSource;
import io.smallrye.config.SmallRyeConfigBuilder;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Reads the settings with SmallRye Config from environment variables only. Quarkus's own configuration would also read files of
 * the working directory, and would accept empty and unknown variables.
 */
public final class SettingsReader {
    /** In the order of the documentation; the settings of the rules come after the first group. */
    public static final List<ConfigClass> GROUPS = Stream.of(
                    GeneralSettings.class,
                    SafetySettings.class,
                    GpuSettings.class,
                    StateSettings.class,
                    DataSettings.class,
                    HttpSettings.class,
                    NotificationSettings.class,
                    RemoteSettings.class)
            .map(ConfigClass::configClass)
            .toList();

    private static final String MAX_TERMINATIONS = "genv.enforcer.max-terminations-per-cycle";

    /** Above the library's own converters. */
    private static final int PRIORITY = 200;

    private final Variables variables;
    private final SettingErrors errors;
    private final Map<RuleDefinition, RuleConfig> rules;
    private final Map<String, String> values = new HashMap<>();

    private SettingsReader(Variables variables) {
        this.variables = variables;
        this.errors = new SettingErrors(variables);
        this.rules = RuleSettings.read(variables, errors);
        for (var group : GROUPS) {
            for (var property : group.getProperties().keySet()) {
                var value = variables.value(Variables.nameOf(property));
                if (!value.isEmpty() && !isExpressionOfQuarkus(property, value)) {
                    values.put(property, value.strip());
                }
            }
        }
    }

    /** Only Quarkus expands such a value and uses it, so only Quarkus can check it. */
    private static boolean isExpressionOfQuarkus(String property, String value) {
        return property.startsWith("quarkus.") && value.contains("${");
    }

    /** Reads all settings. The exception has every variable that is invalid, and not only the first. */
    public static Settings read(Variables variables) throws InvalidSettingsException {
        return new SettingsReader(variables).read();
    }

    public static SortedSet<String> variables() {
        var all = new TreeSet<>(RuleSettings.variables());
        GROUPS.forEach(group ->
                group.getProperties().keySet().stream().map(Variables::nameOf).forEach(all::add));
        return all;
    }

    private Settings read() throws InvalidSettingsException {
        var settings = readValid();
        var known = variables();
        new Contradictions().check(settings, known);
        UnknownVariables.check(variables, known, errors);
        errors.throwIfAny();
        return settings;
    }

    /** The settings without the invalid values, which become errors. */
    private Settings readValid() {
        GROUPS.forEach(group -> ConfigMappings.getProperties(group).forEach(this::check));
        try {
            var settings = map();
            // A single cycle has no limit by default, because no later cycle would terminate the other processes.
            if (settings.isSingleCycle() && values.putIfAbsent(MAX_TERMINATIONS, "0") == null) {
                return map();
            }
            return settings;
        } catch (ConfigValidationException _) { // its text and its cause may have a secret
            throw new IllegalStateException("the settings library refuses valid settings");
        }
    }

    /** The library would report an invalid value only in its own words, which may contain a secret. */
    private void check(String property, Property definition) {
        var value = values.get(property);
        var parser = parserOf(definition);
        if (value == null || parser.isEmpty()) {
            return;
        }
        try {
            values.put(property, text(parser.get().parse(value), value));
        } catch (IllegalArgumentException e) {
            values.remove(property);
            errors.add(Variables.nameOf(property), String.valueOf(e.getMessage()));
        }
    }

    /** Returns the text that the library reads: it has other words for switches, knows constants in lower case, and reads no file. */
    private static String text(Object parsed, String value) {
        return switch (parsed) {
            case Boolean on -> on.toString();
            case URI address -> address.toString();
            case Enum<?> _ -> value.toLowerCase(Locale.ROOT);
            default -> value;
        };
    }

    /** Returns the parser of the kind of a setting, or that of the constants of an enum; empty if every value is valid. */
    static Optional<SettingParser<?>> parserOf(Property definition) {
        var kind = definition.getMethod().getAnnotation(Accepts.class);
        if (kind != null) {
            return Optional.of(kind.value().parser());
        }
        return definition instanceof LeafProperty leaf && leaf.getValueRawType().isEnum()
                // The library itself converts them too, but has its own words for an invalid value.
                ? Optional.of(
                        SettingParser.ofChoices(List.of(leaf.getValueRawType().getEnumConstants())))
                : Optional.empty();
    }

    private Settings map() {
        var builder = new SmallRyeConfigBuilder()
                .withSources(new PropertiesConfigSource(values, "environment", 100))
                .withConverter(
                        Path.class,
                        PRIORITY,
                        Converters.newEmptyValueConverter(
                                value -> Path.of(value).normalize()))
                .withConverter(
                        Memory.class, PRIORITY, value -> Memory.parse(value).orElseThrow())
                .withConverter(
                        Duration.class,
                        PRIORITY,
                        value -> SettingKind.duration(value).orElse(null)); // never
        GROUPS.forEach(builder::withMapping);
        var config = builder.build();
        return new Settings(
                config.getConfigMapping(GeneralSettings.class),
                rules,
                config.getConfigMapping(SafetySettings.class),
                config.getConfigMapping(GpuSettings.class),
                config.getConfigMapping(StateSettings.class),
                config.getConfigMapping(DataSettings.class),
                config.getConfigMapping(HttpSettings.class),
                config.getConfigMapping(NotificationSettings.class),
                config.getConfigMapping(RemoteSettings.class));
    }

    /** Finds settings that are valid by themselves, but not together. */
    private final class Contradictions {
        private static final String REMOTE = "GENV_ENFORCER_REMOTE_";
        private static final String HOSTS = REMOTE + "HOSTS";
        private static final String HOST_FILE = REMOTE + "HOSTFILE";
        private static final String KNOWN_HOSTS = REMOTE + "KNOWN_HOSTS";

        private static final String PREFIX = "GENV_ENFORCER_";
        private static final String TERMINAL = PREFIX + "TERMINAL_MESSAGES";
        private static final String AUDIT = PREFIX + "AUDIT_MESSAGES";
        private static final String MAIL_HOST = PREFIX + "MAIL_HOST";
        private static final String MAIL_USER = PREFIX + "MAIL_USER";
        private static final String MAIL_PASSWORD = PREFIX + "MAIL_PASSWORD_FILE";
        private static final String URL = PREFIX + "WEBHOOK_URL";
        private static final String URL_FILE = PREFIX + "WEBHOOK_URL_FILE";
        private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");

        /** Reports every contradiction in settings without the invalid values; the other names are those of all variables. */
        void check(Settings settings, Collection<String> known) {
            if (settings.isSingleCycle() && settings.data().dataDir().isPresent()) {
                errors.add(
                        "GENV_ENFORCER_DATA_DIR",
                        "expected no value with GENV_ENFORCER_INTERVAL=0, because a single cycle keeps its database in"
                                + " memory");
            }
            if (variables.isSet(HOSTS) || variables.isSet(HOST_FILE)) {
                checkRemote(settings);
            } else {
                var reason = "has no effect without machines: set %s or %s, or unset it".formatted(HOSTS, HOST_FILE);
                refuseGroup(REMOTE, known, reason);
            }
            checkNotifications(settings, known);
        }

        private void checkRemote(Settings settings) {
            if (!variables.isSet(KNOWN_HOSTS)) {
                errors.add(
                        KNOWN_HOSTS,
                        "expected a file with the keys of the hosts, as ssh-keyscan writes it: the service refuses a"
                                + " host with an unknown key");
            }
            if (errors.isEmpty()) { // an error may be that a file does not exist
                checkFiles(settings);
            }
        }

        /** Refuses the settings of a group, of which the one that makes them useful is not set. */
        private void refuseGroup(String prefix, Collection<String> known, String reason) {
            refuse(known.stream().filter(name -> name.startsWith(prefix)).toList(), reason);
        }

        private void checkFiles(Settings settings) {
            try {
                var _ = new SshAccess(settings.ssh());
            } catch (IllegalArgumentException e) {
                var message = String.valueOf(e.getMessage());
                var culprit = Stream.of("IDENTITY_FILE", "PASSPHRASE_FILE", "SSH_CONFIG")
                        .map(REMOTE::concat)
                        .filter(name -> variables.isSet(name)
                                && message.contains(variables.value(name).strip()))
                        .findFirst()
                        .orElse(KNOWN_HOSTS);
                errors.add(culprit, message);
            }
        }

        private void checkNotifications(Settings settings, Collection<String> known) {
            var notification = settings.notification();
            if (settings.isSingleCycle()) {
                refuse(
                        List.of(TERMINAL, MAIL_HOST, URL, URL_FILE),
                        "expected to be unset with GENV_ENFORCER_INTERVAL=0, because a single cycle sends no messages");
            }
            if (settings.isRemote() && notification.terminalMessages()) {
                errors.add(
                        TERMINAL,
                        "expected off with machines over SSH, because the service writes only to terminals of its own"
                                + " node");
            }
            if (notification.auditMessages() && !notification.terminalMessages() && !variables.isSet(MAIL_HOST)) {
                errors.add(AUDIT, "has no effect without %s or %s".formatted(TERMINAL, MAIL_HOST));
            }
            if (variables.isSet(MAIL_HOST)) {
                checkMail(notification);
            } else {
                refuseGroup(PREFIX + "MAIL_", known, "has no effect without " + MAIL_HOST);
            }
            if (variables.isSet(URL) || variables.isSet(URL_FILE)) {
                checkWebhook(notification);
            } else {
                refuseGroup(PREFIX + "WEBHOOK_", known, "has no effect without %s or %s".formatted(URL, URL_FILE));
            }
        }

        private void checkMail(NotificationSettings settings) {
            if (!variables.isSet(PREFIX + "MAIL_FROM")) {
                errors.add(PREFIX + "MAIL_FROM", "expected a mail address, because " + MAIL_HOST + " is set");
            }
            if (!variables.isSet(PREFIX + "MAIL_TO") && !variables.isSet(PREFIX + "MAIL_ADDRESS_FILE")) {
                errors.add(
                        PREFIX + "MAIL_TO",
                        "expected an address with {user}, or GENV_ENFORCER_MAIL_ADDRESS_FILE, because " + MAIL_HOST
                                + " is set");
            }
            if (variables.isSet(MAIL_USER) != variables.isSet(MAIL_PASSWORD)) {
                errors.add(
                        variables.isSet(MAIL_USER) ? MAIL_PASSWORD : MAIL_USER,
                        "expected a value, because a login needs a user and a password");
            }
            if (variables.isSet(MAIL_USER) && settings.mailTls() != Tls.REQUIRED) {
                errors.add(
                        PREFIX + "MAIL_TLS",
                        "expected required with " + MAIL_USER + ", because others could read the password");
            }
        }

        private void checkWebhook(NotificationSettings settings) {
            if (variables.isSet(URL) && variables.isSet(URL_FILE)) {
                errors.add(URL_FILE, "expected to be unset with " + URL);
            }
            checkScheme(URL, settings.webhookUrl(), settings.webhookPlainHttp());
            checkScheme(URL_FILE, settings.webhookUrlFile(), settings.webhookPlainHttp());
        }

        private void checkScheme(String variable, Optional<URI> address, boolean permitted) {
            var isHttp =
                    address.map(URI::getScheme).filter("http"::equalsIgnoreCase).isPresent();
            if (isHttp && !permitted && !LOOPBACK.contains(address.get().getHost())) {
                errors.add(
                        variable,
                        "expected https, or http on localhost, 127.0.0.1 or [::1];"
                                + " GENV_ENFORCER_WEBHOOK_PLAIN_HTTP=true allows http on other hosts");
            }
        }

        private void refuse(List<String> names, String reason) {
            names.stream().filter(variables::isSet).forEach(name -> errors.add(name, reason));
        }
    }
}
