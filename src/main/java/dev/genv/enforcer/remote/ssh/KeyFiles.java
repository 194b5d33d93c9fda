package dev.genv.enforcer.remote.ssh;

import com.jcraft.jsch.HostKey;
import com.jcraft.jsch.HostKeyRepository;
import com.jcraft.jsch.Identity;
import com.jcraft.jsch.IdentityRepository;
import com.jcraft.jsch.JSch;
import com.jcraft.jsch.JSchException;
import com.jcraft.jsch.KeyPairGenEdDSA;
import com.jcraft.jsch.UserInfo;
import dev.genv.enforcer.linux.WatchedFile;
import dev.genv.enforcer.remote.ssh.HopResolver.Hop;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.spec.NamedParameterSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
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

    static {
        // What JSch has for this needs another library.
        JSch.setConfig("keypairgen_fromprivate.eddsa", PrivateEd25519.class.getName());
    }

    KeyFiles(@Nullable Path passphraseFile) {
        this.passphraseFile = passphraseFile;
    }

    /**
     * Returns the known host keys for a server. A missing file contains none.
     *
     * @throws IOException if a file cannot be read, because it may revoke keys
     */
    KnownHosts knownHosts(Hop hop) throws IOException {
        var repositories = new ArrayList<HostKeyRepository>();
        for (var each : hop.knownHosts()) {
            try {
                repositories.add(hostKeys(each));
            } catch (NoSuchFileException _) {
                // like OpenSSH, which reads several files by default
            }
        }
        var files = hop.knownHosts().stream().map(Path::toString).collect(Collectors.joining(" "));
        return new KnownHosts(files, hop, repositories);
    }

    HostKeyRepository hostKeys(Path file) throws IOException {
        return knownHosts
                .computeIfAbsent(file, path -> new WatchedFile<>(path, LARGEST, bytes -> hostKeys(path, bytes)))
                .current();
    }

    /**
     * Returns the private keys to log in with, in the order of use.
     *
     * @param certificates files with certificates of these keys; one beside a key, as ssh-keygen names it, is found without
     * @throws IOException if a file cannot be read or decrypted, or there is no key
     */
    IdentityRepository identities(List<Path> files, List<Path> certificates) throws IOException, JSchException {
        if (files.isEmpty()) {
            throw new IOException(
                    "there is no private key to log in with: neither the settings nor the SSH configuration"
                            + " names one, and SSH_AUTH_SOCK is not set");
        }
        var keys = new ArrayList<Identity>();
        var beside = new ArrayList<Path>();
        for (var each : files) {
            keys.addAll(identities
                    .computeIfAbsent(
                            each, path -> new WatchedFile<>(path, LARGEST_IDENTITY, bytes -> identity(path, bytes)))
                    .current());
            beside.add(each.resolveSibling(each.getFileName() + "-cert.pub"));
        }
        beside.removeIf(Files::notExists);
        return identities(keys, certificates, beside);
    }

    /**
     * Returns these keys, and before them as in OpenSSH their certificates.
     *
     * @param certificates files that must contain a certificate of one of the keys
     * @param beside files with which this is not so: a key may be newer than the file beside it
     */
    IdentityRepository identities(List<Identity> keys, List<Path> certificates, List<Path> beside)
            throws IOException, JSchException {
        var jsch = new JSch();
        for (var each : certificates) {
            jsch.addIdentity(
                    certified(each, keys)
                            .orElseThrow(
                                    () -> new IOException(each + " is the certificate of none of the private keys")),
                    null);
        }
        for (var each : beside) {
            for (var found : certified(each, keys).stream().toList()) {
                jsch.addIdentity(found, null);
            }
        }
        for (var each : keys) {
            jsch.addIdentity(CertifiedKey.ofAgent(each), null);
        }
        return jsch.getIdentityRepository();
    }

    private static Optional<CertifiedKey> certified(Path file, List<Identity> keys) throws IOException {
        var text = new WatchedFile<>(file, LARGEST_IDENTITY, bytes -> new String(bytes, StandardCharsets.UTF_8));
        try {
            return CertifiedKey.find(text.current(), keys);
        } catch (IllegalArgumentException e) {
            throw new IOException(file + " is not a certificate of OpenSSH: " + e.getMessage(), e);
        }
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

    /** The key pair of a private key that is not stored with its public key, as in PKCS#8. JSch makes it by its name. */
    public static final class PrivateEd25519 implements KeyPairGenEdDSA {
        private byte[] seed = {};
        private byte[] publicKey = {};

        @Override
        public void init(String name, byte[] privateKey) throws GeneralSecurityException {
            seed = privateKey.clone();
            var generator = KeyPairGenerator.getInstance(name);
            // The generator takes the private key from here, and nothing else.
            generator.initialize(new NamedParameterSpec(name), new SecureRandom() {
                private static final long serialVersionUID = 1L;

                @Override
                public void nextBytes(byte[] bytes) {
                    System.arraycopy(privateKey, 0, bytes, 0, bytes.length);
                }
            });
            var encoded = generator.generateKeyPair().getPublic().getEncoded();
            publicKey = Arrays.copyOfRange(encoded, encoded.length - seed.length, encoded.length);
        }

        @Override
        public void init(String name, int length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public byte[] getPub() {
            return publicKey.clone();
        }

        @Override
        public byte[] getPrv() {
            return seed.clone();
        }
    }

    /**
     * The host keys from one or several known_hosts files, for one server. The service reads them and never adds a key. JSch checks
     * certificates; which authorities it may trust for the server is decided here, because it ignores a {@code !} before a pattern.
     */
    record KnownHosts(String name, Hop hop, List<HostKeyRepository> files) implements HostKeyRepository {
        private static final String AUTHORITY = "@cert-authority";

        /** Whether a line trusts an authority for the certificate of this server. */
        boolean hasAuthority() {
            return authorities().findAny().isPresent();
        }

        private Stream<HostKey> authorities() {
            return all().filter(each -> each.getMarker().equals(AUTHORITY))
                    .filter(each -> isForThisServer(List.of(each.getHost().split(",", -1))))
                    .map(this::ofThisServer);
        }

        /** Like OpenSSH, with the port or else without, unless it has an alias. A {@code !} excludes it in both forms. */
        private boolean isForThisServer(List<String> patterns) {
            var names = hop.keyAlias() == null ? List.of(hop.keyName(), hop.host()) : List.of(hop.keyAlias());
            var notExcluded = Stream.concat(Stream.of("*"), patterns.stream()).toList();
            return names.stream().anyMatch(server -> matches(patterns, server))
                    && names.stream().allMatch(server -> matches(notExcluded, server));
        }

        private static boolean matches(List<String> patterns, String server) {
            var lowerCase =
                    patterns.stream().map(each -> each.toLowerCase(Locale.ROOT)).toList();
            return SshConfig.matches(lowerCase, server.toLowerCase(Locale.ROOT));
        }

        private HostKey ofThisServer(HostKey authority) {
            try {
                var key = Base64.getDecoder().decode(authority.getKey());
                return new HostKey(AUTHORITY, hop.keyName(), HostKey.GUESS, key, authority.getComment());
            } catch (JSchException e) {
                throw new IllegalStateException(e);
            }
        }

        private Stream<HostKey> all() {
            return files.stream().flatMap(each -> Stream.of(each.getHostKey()));
        }

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
            return all().anyMatch(each ->
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

        /** Returns no authorities: JSch would prefer a plain key of their type. */
        @Override
        public HostKey[] getHostKey(@Nullable String host, @Nullable String type) {
            return files.stream()
                    .flatMap(each -> Stream.of(each.getHostKey(host, type)))
                    .filter(each -> !each.getMarker().equals(AUTHORITY))
                    .toArray(HostKey[]::new);
        }

        @Override
        public HostKey[] getHostKey() {
            return Stream.concat(Stream.of(getHostKey(null, null)), authorities())
                    .toArray(HostKey[]::new);
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
