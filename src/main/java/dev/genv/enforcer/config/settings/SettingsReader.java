package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.config.settings.Settings.DataSettings;
import dev.genv.enforcer.config.settings.Settings.GeneralSettings;
import dev.genv.enforcer.config.settings.Settings.GpuSettings;
import dev.genv.enforcer.config.settings.Settings.HttpSettings;
import dev.genv.enforcer.config.settings.Settings.StateSettings;
import dev.genv.enforcer.config.settings.Variables.InvalidSettingsException;
import dev.genv.enforcer.notification.MailSender.MailServer.Tls;
import dev.genv.enforcer.remote.ssh.SshAccess;
import io.smallrye.config.ConfigMappingInterface.Property;
import io.smallrye.config.ConfigMappings;
import io.smallrye.config.ConfigMappings.ConfigClass;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the settings from environment variables only. Quarkus's own configuration would also read files of the working directory, accept
 * empty and unknown variables, and show the value of an invalid one, which may be a secret. SmallRye Config names the properties.
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

    private static final String INTERVAL = "genv.enforcer.interval";
    private static final String MAX_TERMINATIONS = "genv.enforcer.max-terminations-per-cycle";
    private static final String PREFIX = "GENV_ENFORCER_";
    private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");
    private static final SettingParser<String> TEXT = new SettingParser<>("text", Optional::of);

    private final Variables variables;
    private final SortedSet<String> known = variables();
    /** By property. */
    private final Map<String, Object> values = new HashMap<>();

    private SettingsReader(Variables variables) {
        this.variables = variables;
    }

    /** Reads all settings. The exception has every variable that is invalid, and not only the first. */
    public static Settings read(Variables variables) throws InvalidSettingsException {
        return new SettingsReader(variables).read();
    }

    public static SortedSet<String> variables() {
        var all = new TreeSet<>(RuleSettings.variables());
        GROUPS.forEach(group ->
                properties(group).keySet().stream().map(Variables::nameOf).forEach(all::add));
        return all;
    }

    private Settings read() throws InvalidSettingsException {
        GROUPS.forEach(group -> properties(group).forEach(this::read));
        var settings = new Settings(
                group(GeneralSettings.class),
                RuleSettings.read(variables),
                group(SafetySettings.class),
                group(GpuSettings.class),
                group(StateSettings.class),
                group(DataSettings.class),
                group(HttpSettings.class),
                group(NotificationSettings.class),
                group(RemoteSettings.class));
        checkTogether(settings);
        variables.refuseUnknown(known);
        variables.throwIfAnyIsInvalid();
        return settings;
    }

    /** Returns the properties of a group by their names. The library also names the elements of a list, as {@code hosts[*]}, which no variable sets. */
    static Map<String, Property> properties(ConfigClass group) {
        var all = new LinkedHashMap<>(ConfigMappings.getProperties(group));
        all.keySet().removeIf(name -> name.endsWith("[*]"));
        return all;
    }

    /** Reads the value of a setting. An invalid one becomes an error, and the default takes its place. */
    private void read(String name, Property property) {
        var parser = parserOf(property);
        var variable = Variables.nameOf(name);
        var given = variables.value(variable);
        if (!given.isEmpty() && !isExpressionOfQuarkus(name, given)) {
            try {
                values.put(name, parser.parse(given));
            } catch (IllegalArgumentException e) {
                variables.refuse(variable, String.valueOf(e.getMessage()));
            }
        }
        if (property.hasDefaultValue()) {
            // A single cycle has no limit by default, because no later cycle would terminate the other processes.
            var isUnlimited = name.equals(MAX_TERMINATIONS) && Duration.ZERO.equals(values.get(INTERVAL));
            values.putIfAbsent(name, parser.parse(isUnlimited ? "0" : property.getDefaultValue()));
        }
    }

    /** Only Quarkus expands such a value and uses it, so only Quarkus can check it. */
    private static boolean isExpressionOfQuarkus(String property, String value) {
        return property.startsWith("quarkus.") && value.contains("${");
    }

    /** Returns the parser of the kind of a setting, or else that of its type. */
    static SettingParser<?> parserOf(Property property) {
        var kind = property.getMethod().getAnnotation(Accepts.class);
        var type = property.getMethod().getReturnType();
        if (kind != null) {
            return kind.value().parser();
        }
        if (type == boolean.class) {
            return SettingKind.TRUE_OR_FALSE.parser();
        }
        return type.isEnum() ? SettingParser.ofChoices(List.of(type.getEnumConstants())) : TEXT;
    }

    private <T> T group(Class<T> type) {
        var byMethod = new HashMap<String, Object>();
        properties(ConfigClass.configClass(type)).forEach((name, property) -> {
            var value = values.get(name);
            var method = property.getMethod();
            byMethod.put(
                    method.getName(), method.getReturnType() == Optional.class ? Optional.ofNullable(value) : value);
        });
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, new Group(byMethod)));
    }

    /** The values of a group by the names of its methods. */
    private record Group(Map<String, Object> values) implements InvocationHandler {
        @Override
        public @Nullable Object invoke(Object group, Method method, Object @Nullable [] arguments) {
            return switch (method.getName()) {
                case "equals" ->
                    arguments != null
                            && Proxy.isProxyClass(arguments[0].getClass())
                            && equals(Proxy.getInvocationHandler(arguments[0]));
                case "hashCode" -> hashCode();
                case "toString" -> toString();
                default -> values.get(method.getName());
            };
        }
    }

    /** Reports every contradiction in settings that are valid by themselves. */
    private void checkTogether(Settings settings) {
        if (settings.isSingleCycle()) {
            refuse(
                    List.of("DATA_DIR"),
                    "expected no value with GENV_ENFORCER_INTERVAL=0, because a single cycle keeps its database in"
                            + " memory");
            refuse(
                    List.of("TERMINAL_MESSAGES", "MAIL_HOST", "WEBHOOK_URL", "WEBHOOK_URL_FILE"),
                    "expected to be unset with GENV_ENFORCER_INTERVAL=0, because a single cycle sends no messages");
        }
        if (isSet("REMOTE_HOSTS") || isSet("REMOTE_HOSTFILE")) {
            checkRemote(settings);
        } else {
            refuseGroup(
                    "REMOTE_",
                    "has no effect without machines: set %sREMOTE_HOSTS or %sREMOTE_HOSTFILE, or unset it"
                            .formatted(PREFIX, PREFIX));
        }
        if (isSet("TLS_CERTIFICATE_FILE")) {
            check(!isSet("TLS_KEY_FILE"), "TLS_KEY_FILE", "expected the file with the key of the certificate");
        } else {
            refuseGroup("TLS_", "has no effect without GENV_ENFORCER_TLS_CERTIFICATE_FILE");
        }
        var notification = settings.notification();
        check(
                settings.isRemote() && notification.terminalMessages(),
                "TERMINAL_MESSAGES",
                "expected off with machines over SSH, because the service writes only to terminals of its own node");
        check(
                notification.auditMessages()
                        && !notification.terminalMessages()
                        && !isSet("MAIL_TO")
                        && !isSet("MAIL_ADDRESS_FILE"),
                "AUDIT_MESSAGES",
                "has no effect without %sTERMINAL_MESSAGES, %<sMAIL_TO or %<sMAIL_ADDRESS_FILE".formatted(PREFIX));
        if (isSet("MAIL_HOST")) {
            checkMail(notification);
        } else {
            refuseGroup("MAIL_", "has no effect without GENV_ENFORCER_MAIL_HOST");
        }
        if (isSet("WEBHOOK_URL") || isSet("WEBHOOK_URL_FILE")) {
            check(
                    isSet("WEBHOOK_URL") && isSet("WEBHOOK_URL_FILE"),
                    "WEBHOOK_URL_FILE",
                    "expected to be unset with GENV_ENFORCER_WEBHOOK_URL");
            checkScheme("WEBHOOK_URL", notification.webhookUrl(), notification.webhookPlainHttp());
            checkScheme("WEBHOOK_URL_FILE", notification.webhookUrlFile(), notification.webhookPlainHttp());
        } else {
            refuseGroup(
                    "WEBHOOK_", "has no effect without %sWEBHOOK_URL or %sWEBHOOK_URL_FILE".formatted(PREFIX, PREFIX));
        }
    }

    private void checkRemote(Settings settings) {
        check(
                !isSet("REMOTE_KNOWN_HOSTS"),
                "REMOTE_KNOWN_HOSTS",
                "expected a file with the keys of the hosts, as ssh-keyscan writes it: the service refuses a host with"
                        + " an unknown key");
        if (variables.hasErrors()) { // an error may be that a file does not exist
            return;
        }
        try {
            var _ = new SshAccess(settings.ssh());
        } catch (IllegalArgumentException e) {
            var message = String.valueOf(e.getMessage());
            var culprit = Stream.of("REMOTE_IDENTITY_FILE", "REMOTE_PASSPHRASE_FILE", "REMOTE_SSH_CONFIG")
                    .filter(name -> isSet(name) && message.contains(variables.value(PREFIX + name)))
                    .findFirst()
                    .orElse("REMOTE_KNOWN_HOSTS");
            variables.refuse(PREFIX + culprit, message);
        }
    }

    private void checkMail(NotificationSettings settings) {
        check(!isSet("MAIL_FROM"), "MAIL_FROM", "expected a mail address, because GENV_ENFORCER_MAIL_HOST is set");
        check(
                !isSet("MAIL_TO") && !isSet("MAIL_ADDRESS_FILE") && !isSet("MAIL_REPORT_TO"),
                "MAIL_TO",
                "expected an address with {user}, or GENV_ENFORCER_MAIL_ADDRESS_FILE, because GENV_ENFORCER_MAIL_HOST"
                        + " is set");
        check(
                isSet("MAIL_USER") != isSet("MAIL_PASSWORD_FILE"),
                isSet("MAIL_USER") ? "MAIL_PASSWORD_FILE" : "MAIL_USER",
                "expected a value, because a login needs a user and a password");
        check(
                isSet("MAIL_USER") && settings.mailTls() != Tls.REQUIRED,
                "MAIL_TLS",
                "expected required with GENV_ENFORCER_MAIL_USER, because others could read the password");
    }

    private void checkScheme(String name, Optional<URI> address, boolean isHttpPermitted) {
        check(
                address.filter(uri -> "http".equalsIgnoreCase(uri.getScheme()) && !LOOPBACK.contains(uri.getHost()))
                                .isPresent()
                        && !isHttpPermitted,
                name,
                "expected https, or http on localhost, 127.0.0.1 or [::1];"
                        + " GENV_ENFORCER_WEBHOOK_PLAIN_HTTP=true allows http on other hosts");
    }

    private boolean isSet(String name) {
        return variables.isSet(PREFIX + name);
    }

    /** Adds an error if a setting is invalid together with others. */
    private void check(boolean isInvalid, String name, String reason) {
        if (isInvalid) {
            variables.refuse(PREFIX + name, reason);
        }
    }

    /** Refuses the settings of a group, of which the one that makes them useful is not set. */
    private void refuseGroup(String group, String reason) {
        refuse(
                known.stream()
                        .filter(name -> name.startsWith(PREFIX + group))
                        .map(name -> name.substring(PREFIX.length()))
                        .toList(),
                reason);
    }

    private void refuse(List<String> names, String reason) {
        names.forEach(name -> check(isSet(name), name, reason));
    }
}
