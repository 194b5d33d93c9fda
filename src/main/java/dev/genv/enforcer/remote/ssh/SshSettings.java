package dev.genv.enforcer.remote.ssh;

import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How machines are reached over SSH. All paths are absolute.
 *
 * @param username the user to log in as; null for the user of the SSH configuration, or else the service's own user
 * @param identityFile a private key; null for the keys of the SSH configuration
 * @param passphraseFile a file with the passphrase of all private keys; null if they are not encrypted
 * @param sshConfig an OpenSSH client configuration; null for none
 * @param knownHosts the host keys, in OpenSSH's known_hosts format
 * @param timeout the time limit of a connection attempt, all hops and the login included
 */
public record SshSettings(
        @Nullable String username,
        @Nullable Path identityFile,
        @Nullable Path passphraseFile,
        @Nullable Path sshConfig,
        Path knownHosts,
        Duration timeout) {}
