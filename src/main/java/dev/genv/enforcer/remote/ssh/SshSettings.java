package dev.genv.enforcer.remote.ssh;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How hosts are reached. All paths are absolute.
 *
 * @param username whom to log in as; null is what the SSH configuration says, else the service's own user
 * @param identityFile a private key; null is what the SSH configuration says
 * @param passphraseFile what opens it, and those of the SSH configuration; null where none is needed
 * @param sshConfig an OpenSSH client configuration; null is none
 * @param knownHosts the keys of the hosts, as OpenSSH keeps them
 * @param timeout how long connecting may take in all
 */
public record SshSettings(
        @Nullable String username,
        @Nullable Path identityFile,
        @Nullable Path passphraseFile,
        @Nullable Path sshConfig,
        Path knownHosts,
        Duration timeout) {}
