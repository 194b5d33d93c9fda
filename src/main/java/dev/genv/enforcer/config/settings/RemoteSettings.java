package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.remote.HostAddress;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The machines that the service enforces on over SSH. */
@ConfigMapping(prefix = "genv.enforcer.remote")
public interface RemoteSettings {
    /**
     * Machines to enforce on, separated by commas. If this or {@code GENV_ENFORCER_REMOTE_HOSTFILE} is set, the service enforces on
     * those machines and not on its own node.
     */
    @Accepts(SettingKind.MACHINES)
    Optional<List<HostAddress>> hosts();

    /**
     * File with one machine a line and {@code #} before comments. Its machines are added to those of
     * {@code GENV_ENFORCER_REMOTE_HOSTS}. The service reads it again two seconds after a change. If the new content is invalid or
     * names no machine, the list stays as it was.
     */
    @Accepts(SettingKind.FILE_OF_HOSTS)
    Optional<Path> hostfile();

    /**
     * File with the host keys of the machines, as {@code ssh-keyscan} writes it. It is required if machines are set. The service
     * refuses a machine whose key is unknown, revoked or changed. It reads the file again after a change. Only a line with
     * {@code @cert-authority}, which trusts host certificates, may have patterns of names.
     */
    @Accepts(SettingKind.READABLE_FILE)
    Optional<Path> knownHosts();

    /** Login user. Unset means the user of the SSH configuration, or else the service's own user. */
    @Accepts(SettingKind.LOGIN_NAME)
    Optional<String> username();

    /**
     * File with the private key of the login user. Unset means the keys of the SSH configuration, or else those of ssh-agent at
     * {@code SSH_AUTH_SOCK}.
     */
    @Accepts(SettingKind.READABLE_FILE)
    Optional<Path> identityFile();

    /** File with the passphrase of the private keys. Set it if a key is encrypted. */
    @Accepts(SettingKind.READABLE_FILE)
    Optional<Path> passphraseFile();

    /**
     * OpenSSH client configuration. The service uses {@code HostName}, {@code User}, {@code Port}, {@code IdentityFile},
     * {@code CertificateFile}, {@code UserKnownHostsFile}, {@code HostKeyAlias}, {@code ProxyJump} and {@code Include}, for all hosts, under {@code Host}, or
     * under {@code Match} with {@code host}, {@code originalhost} or {@code all}. Set it for jump hosts, or if machines have
     * different users or keys.
     */
    @Accepts(SettingKind.READABLE_FILE)
    Optional<Path> sshConfig();

    /**
     * Time that connecting may take, and each command. Waiting for nvidia-smi takes at most 30 % of it, and waiting for genv's
     * lock at most 15 %. Increase it for slow machines or connections.
     */
    @WithDefault("10s")
    @Accepts(SettingKind.TIMEOUT)
    Duration timeout();

    /** Whether commands run with {@code sudo -n}. Set {@code false} if the login user is root. */
    @WithDefault("true")
    boolean sudo();

    /** genv's state directory on the machines. Set it if genv there uses {@code GENV_TMPDIR}. */
    @WithDefault("/var/tmp/genv")
    @Accepts(SettingKind.ABSOLUTE_PATH)
    Path stateDir();

    /**
     * {@code true} exits with code 1 after a cycle in which a machine could not be reached, as genv's {@code -e} does. Set it if
     * a supervisor handles such failures.
     */
    @WithDefault("false")
    boolean exitOnError();

    /**
     * {@code true} logs nothing about machines that do not answer, as genv's {@code -q} does. Set it if machines are often off.
     */
    @WithDefault("false")
    boolean quiet();
}
