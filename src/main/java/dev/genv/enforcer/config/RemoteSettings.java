package dev.genv.enforcer.config;

import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.HostList;
import dev.genv.enforcer.remote.ssh.SshAccess;
import dev.genv.enforcer.remote.ssh.SshSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The settings of enforcing on other machines.
 *
 * @param hosts those that are named in a variable
 * @param hostFile where others are named; null where there is none
 * @param sudo whether commands are run through {@code sudo -n}
 * @param stateDir genv's directory on the hosts
 * @param exitOnError whether the service ends once a host could not be reached
 * @param quiet whether the log says nothing of hosts that do not answer
 */
record RemoteSettings(
        List<HostAddress> hosts,
        @Nullable Path hostFile,
        SshSettings ssh,
        boolean sudo,
        Protocol protocol,
        String stateDir,
        boolean exitOnError,
        boolean quiet) {
    private static final String PREFIX = Variables.PREFIX + "REMOTE_";
    private static final String HOSTS = PREFIX + "HOSTS";
    private static final String HOST_FILE = PREFIX + "HOSTFILE";
    private static final String KNOWN_HOSTS = PREFIX + "KNOWN_HOSTS";

    RemoteSettings {
        hosts = List.copyOf(hosts);
    }

    /** What is said on the hosts. */
    enum Protocol {
        /** Our own script. */
        SHELL,
        /** genv's own. */
        GENV
    }

    /** Null where no hosts are named: then it is this machine that is enforced on. */
    static @Nullable RemoteSettings read(Variables variables) {
        var hosts = variables.find(HOSTS, HostList::parse);
        var hostFile = variables.find(HOST_FILE, Values::hostFile);
        var knownHosts = variables.find(KNOWN_HOSTS, Values::readableFile);
        var settings = new RemoteSettings(
                hosts == null ? List.of() : hosts,
                hostFile,
                new SshSettings(
                        variables.find(PREFIX + "USERNAME", Values::sshUser),
                        variables.find(PREFIX + "IDENTITY_FILE", Values::readableFile),
                        variables.find(PREFIX + "PASSPHRASE_FILE", Values::readableFile),
                        variables.find(PREFIX + "SSH_CONFIG", Values::readableFile),
                        knownHosts == null ? Path.of("/") : knownHosts,
                        variables.get(PREFIX + "TIMEOUT", Duration.ofSeconds(10), Values::timeout)),
                variables.get(PREFIX + "SUDO", true, Values::yesOrNo),
                variables.get(PREFIX + "AGENT", Protocol.SHELL, Values::agent),
                variables
                        .get(PREFIX + "STATE_DIR", Path.of("/var/tmp/genv"), Values::absolutePath)
                        .toString(),
                variables.get(PREFIX + "EXIT_ON_ERROR", false, Values::yesOrNo),
                variables.get(PREFIX + "QUIET", false, Values::yesOrNo));
        if (!variables.isSet(HOSTS) && !variables.isSet(HOST_FILE)) {
            // Whoever sets one of the others means other machines than this one.
            variables.refuseAll(
                    PREFIX, "means nothing without hosts: set %s or %s, or take it out".formatted(HOSTS, HOST_FILE));
            return null;
        }
        if (!variables.isSet(KNOWN_HOSTS)) {
            variables.refuse(
                    KNOWN_HOSTS,
                    "expected a file with the keys of the hosts, as ssh-keyscan writes it: a host whose key is not known is refused");
        }
        checkFiles(variables, settings);
        return settings;
    }

    private static void checkFiles(Variables variables, RemoteSettings settings) {
        if (variables.hasComplaints()) {
            return; // one of them may be that a file is not there
        }
        try {
            SshAccess.check(settings.ssh);
        } catch (IllegalArgumentException e) {
            var message = String.valueOf(e.getMessage());
            var culprit = Stream.of(PREFIX + "IDENTITY_FILE", PREFIX + "PASSPHRASE_FILE", PREFIX + "SSH_CONFIG")
                    .filter(name -> variables.isSet(name) && message.contains(variables.text(name)))
                    .findFirst()
                    .orElse(KNOWN_HOSTS);
            variables.refuse(culprit, message);
        }
    }
}
