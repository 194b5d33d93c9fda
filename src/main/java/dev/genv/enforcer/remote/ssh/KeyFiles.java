package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.HostKeyRepository;
import com.jcraft.jsch.Identity;
import com.jcraft.jsch.IdentityRepository;
import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import dev.genv.enforcer.files.WatchedFile;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The files of keys, ours and those of the hosts. Each is read once for the fleet, and again when it changes. */
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
     * The keys that may be known of hosts. A file that is missing knows none.
     *
     * @throws IOException where one cannot be read: what is revoked in it could not be told
     */
    KeyRing knownHosts(List<Path> files) throws IOException {
        var repositories = new ArrayList<HostKeyRepository>();
        for (var each : files) {
            try {
                repositories.add(knownHosts
                        .computeIfAbsent(each, path -> new WatchedFile<>(path, LARGEST, bytes -> hostKeys(path, bytes)))
                        .current());
            } catch (NoSuchFileException _) {
                // like OpenSSH, which looks into several by default
            }
        }
        return new KeyRing(files.stream().map(Path::toString).collect(Collectors.joining(" ")), repositories);
    }

    /**
     * What to log in with.
     *
     * @throws IOException where one cannot be read or opened, or there is none
     */
    IdentityRepository identities(List<Path> files) throws IOException {
        if (files.isEmpty()) {
            throw new IOException(
                    "there is no private key to log in with: neither the settings nor the SSH configuration name one");
        }
        var all = new ArrayList<Identity>();
        for (var each : files) {
            all.addAll(identities
                    .computeIfAbsent(
                            each, path -> new WatchedFile<>(path, LARGEST_IDENTITY, bytes -> identity(path, bytes)))
                    .current());
        }
        return new KeyBunch(all);
    }

    private static HostKeyRepository hostKeys(Path path, byte[] bytes) throws IOException {
        var jsch = new JSch();
        try {
            jsch.setKnownHosts(new ByteArrayInputStream(bytes));
            return jsch.getHostKeyRepository();
        } catch (JSchException | RuntimeException e) {
            throw new IOException(path + " cannot be understood as known hosts: " + e.getMessage(), e);
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
            throw new IOException(path + " is encrypted, and there is no passphrase file to open it with");
        }
        return found;
    }

    private byte @Nullable [] passphrase() throws IOException {
        if (passphraseFile == null) {
            return null;
        }
        var text = new WatchedFile<>(
                        passphraseFile, LARGEST_IDENTITY, bytes -> new String(bytes, StandardCharsets.UTF_8))
                .current();
        return text.replaceFirst("\\R\\z", "").getBytes(StandardCharsets.UTF_8);
    }
}
