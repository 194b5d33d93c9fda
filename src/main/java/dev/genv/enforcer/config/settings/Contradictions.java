package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.notification.MailSender.MailServer;
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

    private final Variables variables;
    private final SettingErrors errors;

    Contradictions(Variables variables, SettingErrors errors) {
        this.variables = variables;
        this.errors = errors;
    }

    /**
     * Reports every contradiction.
     *
     * @param settings the settings without the invalid values
     * @param known the names of all variables
     */
    void check(Settings settings, Collection<String> known) {
        if (settings.isSingleCycle() && settings.journal().journalDir().isPresent()) {
            errors.add(
                    "GENV_ENFORCER_JOURNAL_DIR",
                    "expected no value with GENV_ENFORCER_INTERVAL=0, because a single cycle keeps no journal");
        }
        if (!variables.isSet(HOSTS) && !variables.isSet(HOST_FILE)) {
            refuseRemoteSettings(known);
            return;
        }
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

    /** Refuses settings that apply only to other machines if no machine is set. */
    private void refuseRemoteSettings(Collection<String> known) {
        known.stream()
                .filter(name -> name.startsWith(REMOTE) && variables.isSet(name))
                .forEach(name -> errors.add(
                        name, "has no effect without machines: set %s or %s, or unset it".formatted(HOSTS, HOST_FILE)));
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

    /** Finds settings of messages that are valid by themselves, but not together. */
    static final class NotificationContradictions {
        private static final String PREFIX = "GENV_ENFORCER_";
        private static final String TERMINAL = PREFIX + "TERMINAL_MESSAGES";
        private static final String AUDIT = PREFIX + "AUDIT_MESSAGES";
        private static final String MAIL_HOST = PREFIX + "MAIL_HOST";
        private static final String MAIL_USER = PREFIX + "MAIL_USER";
        private static final String MAIL_PASSWORD = PREFIX + "MAIL_PASSWORD_FILE";
        private static final String URL = PREFIX + "WEBHOOK_URL";
        private static final String URL_FILE = PREFIX + "WEBHOOK_URL_FILE";
        private static final List<String> MAIL = List.of(
                "MAIL_PORT",
                "MAIL_TLS",
                "MAIL_USER",
                "MAIL_PASSWORD_FILE",
                "MAIL_FROM",
                "MAIL_TO",
                "MAIL_ADDRESS_FILE",
                "MAIL_CC",
                "MAIL_DELAY",
                "MAIL_MAX_PER_HOUR");
        private static final List<String> WEBHOOK =
                List.of("WEBHOOK_SECRET_FILE", "WEBHOOK_FORMAT", "WEBHOOK_PLAIN_HTTP");
        private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");

        private final Variables variables;
        private final SettingErrors errors;

        NotificationContradictions(Variables variables, SettingErrors errors) {
            this.variables = variables;
            this.errors = errors;
        }

        /**
         * Reports every contradiction.
         *
         * @param settings the settings without the invalid values
         */
        void check(Settings settings) {
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
            checkMail(notification);
            checkWebhook(notification);
        }

        private void checkMail(NotificationSettings settings) {
            if (!variables.isSet(MAIL_HOST)) {
                MAIL.forEach(name -> refuse(List.of(PREFIX + name), "has no effect without " + MAIL_HOST));
                return;
            }
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
            if (!variables.isSet(URL) && !variables.isSet(URL_FILE)) {
                WEBHOOK.forEach(name ->
                        refuse(List.of(PREFIX + name), "has no effect without %s or %s".formatted(URL, URL_FILE)));
                return;
            }
            if (variables.isSet(URL) && variables.isSet(URL_FILE)) {
                errors.add(URL_FILE, "expected to be unset with " + URL);
            }
            checkScheme(URL, settings.webhookUrl(), settings.webhookPlainHttp());
            checkScheme(URL_FILE, settings.webhookUrlFile(), settings.webhookPlainHttp());
        }

        private void checkScheme(String variable, Optional<URI> address, boolean permitted) {
            if (!permitted
                    && address.filter(NotificationContradictions::isReadableByOthers)
                            .isPresent()) {
                errors.add(
                        variable,
                        "expected https, or http on localhost, 127.0.0.1 or [::1];"
                                + " GENV_ENFORCER_WEBHOOK_PLAIN_HTTP=true allows http on other hosts");
            }
        }

        private static boolean isReadableByOthers(URI address) {
            return address.getScheme().equalsIgnoreCase("http") && !LOOPBACK.contains(address.getHost());
        }

        private void refuse(List<String> names, String reason) {
            names.stream().filter(variables::isSet).forEach(name -> errors.add(name, reason));
        }
    }
}
