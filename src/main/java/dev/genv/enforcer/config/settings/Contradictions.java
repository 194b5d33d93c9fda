package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.notification.MailDelivery.MailSender.MailServer;
import dev.genv.enforcer.remote.ssh.SshAccess;
import java.net.URI;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Finds settings that are valid by themselves, but not together. */
final class Contradictions {
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

    private final Variables variables;
    private final SettingErrors errors;

    Contradictions(Variables variables, SettingErrors errors) {
        this.variables = variables;
        this.errors = errors;
    }

    /** Reports every contradiction in settings without the invalid values; the other names are those of all variables. */
    void check(Settings settings, Collection<String> known) {
        if (settings.isSingleCycle() && settings.data().dataDir().isPresent()) {
            errors.add(
                    "GENV_ENFORCER_DATA_DIR",
                    "expected no value with GENV_ENFORCER_INTERVAL=0, because a single cycle keeps its database in memory");
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
                    "expected a file with the keys of the hosts, as ssh-keyscan writes it: the service refuses a host"
                            + " with an unknown key");
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
        if (variables.isSet(MAIL_USER) && settings.mailTls() != MailServer.Tls.REQUIRED) {
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
