package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.HostKey;
import com.jcraft.jsch.HostKeyRepository;
import com.jcraft.jsch.Identity;
import com.jcraft.jsch.IdentityRepository;
import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.UserInfo;
import dev.genv.enforcer.linux.WatchedFile;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The files with private keys and with host keys. Each file is read once for all machines, and again after a change. */
final class KeyFiles {
    private static final int LARGEST = 16 << 20;
    private static final int LARGEST_IDENTITY = 1 << 20;

    private final @Nullable Path passphraseFile;
    private final Map<Path, WatchedFile<List<Identity>>> identities = new ConcurrentHashMap<>();
    private final Map<Path, WatchedFile<HostKeyRepository>> knownHosts = new ConcurrentHashMap<>();

    KeyFiles(@Nullable Path passphraseFile) {
        this.passphraseFile = passphraseFile;
    }

    /**
     * Returns the known host keys. A missing file contains none.
     *
     * @throws IOException if a file cannot be read, because it may revoke keys
     */
    KnownHosts knownHosts(List<Path> files) throws IOException {
        var repositories = new ArrayList<HostKeyRepository>();
        for (var each : files) {
            try {
                repositories.add(knownHosts
                        .computeIfAbsent(each, path -> new WatchedFile<>(path, LARGEST, bytes -> hostKeys(path, bytes)))
                        .current());
            } catch (NoSuchFileException _) {
                // like OpenSSH, which reads several files by default
            }
        }
        return new KnownHosts(files.stream().map(Path::toString).collect(Collectors.joining(" ")), repositories);
    }

    /**
     * Returns the private keys to log in with, in the order of use.
     *
     * @throws IOException if a key cannot be read or decrypted, or there is none
     */
    IdentityRepository identities(List<Path> files) throws IOException, JSchException {
        if (files.isEmpty()) {
            throw new IOException(
                    "there is no private key to log in with: neither the settings nor the SSH configuration names one");
        }
        var jsch = new JSch();
        for (var each : files) {
            var file = identities.computeIfAbsent(
                    each, path -> new WatchedFile<>(path, LARGEST_IDENTITY, bytes -> identity(path, bytes)));
            for (var identity : file.current()) {
                jsch.addIdentity(identity, null);
            }
        }
        return jsch.getIdentityRepository();
    }

    private static HostKeyRepository hostKeys(Path path, byte[] bytes) throws IOException {
        var jsch = new JSch();
        try {
            jsch.setKnownHosts(new ByteArrayInputStream(bytes));
            return jsch.getHostKeyRepository();
        } catch (JSchException | RuntimeException e) {
            throw new IOException(path + " is not a valid known_hosts file: " + e.getMessage(), e);
        }
    }

    private List<Identity> identity(Path path, byte[] bytes) throws IOException {
        var jsch = new JSch();
        var passphrase = passphrase();
        try {
            jsch.addIdentity(path.toString(), bytes, null, passphrase);
        } catch (JSchException | RuntimeException e) {
            throw new IOException(path + " cannot be used as a private key: " + e.getMessage(), e);
        }
        var found = List.copyOf(jsch.getIdentityRepository().getIdentities());
        if (found.stream().anyMatch(Identity::isEncrypted)) {
            throw new IOException(path + " is encrypted, and no passphrase file is set");
        }
        return found;
    }

    private byte @Nullable [] passphrase() throws IOException {
        if (passphraseFile == null) {
            return null;
        }
        var text =
                new WatchedFile<>(passphraseFile, LARGEST_IDENTITY, bytes -> new String(bytes, StandardCharsets.UTF_8));
        return text.current().replaceFirst("\\R\\z", "").getBytes(StandardCharsets.UTF_8);
    }

    /** The host keys from one or several known_hosts files. The service reads them and never adds a key. */
    record KnownHosts(String name, List<HostKeyRepository> files) implements HostKeyRepository {
        /** Whether the files contain a key of this host. */
        boolean knows(String host) {
            return Stream.of(getHostKey(host, null))
                    .anyMatch(each -> each.getMarker().isEmpty());
        }

        /**
         * Whether a line revokes a key, given in Base64. It is revoked for every host: such lines usually have a host pattern,
         * which JSch does not support.
         */
        boolean revokes(String key) {
            return Stream.of(getHostKey())
                    .anyMatch(each ->
                            each.getMarker().equals("@revoked") && each.getKey().equals(key));
        }

        /** Refuses a revoked key first, also if another line trusts it. */
        @Override
        public int check(String host, byte[] key) {
            if (revokes(Base64.getEncoder().encodeToString(key))) {
                return CHANGED;
            }
            var answers = files.stream().map(each -> each.check(host, key)).toList();
            if (answers.contains(OK)) {
                return OK;
            }
            return answers.contains(CHANGED) ? CHANGED : NOT_INCLUDED;
        }

        @Override
        public HostKey[] getHostKey(@Nullable String host, @Nullable String type) {
            return files.stream()
                    .flatMap(each -> Stream.of(each.getHostKey(host, type)))
                    .toArray(HostKey[]::new);
        }

        @Override
        public HostKey[] getHostKey() {
            return getHostKey(null, null);
        }

        @Override
        public String getKnownHostsRepositoryID() {
            return name;
        }

        @Override
        public void add(HostKey key, @Nullable UserInfo user) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void remove(String host, String type) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void remove(String host, String type, byte @Nullable [] key) {
            throw new UnsupportedOperationException();
        }
    }
}
