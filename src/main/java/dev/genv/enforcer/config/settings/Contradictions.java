package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.reading.SettingErrors;
import dev.genv.enforcer.config.settings.reading.Variables;
import dev.genv.enforcer.remote.ssh.SshAccess;
import java.util.Collection;
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
                    "expected a file with the keys of the hosts, as ssh-keyscan writes it: the service refuses a host with an unknown key");
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
            SshAccess.check(settings.ssh());
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
}
