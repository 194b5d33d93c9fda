package dev.genv.enforcer.remote.ssh;

import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Resolves a machine to the SSH servers on the path to it, from the host list, the settings and the SSH configuration. */
record HopResolver(SshSettings settings, SshConfig config, String ownUser, String home) {
    private static final int MAX_HOPS = 8;
    private static final int DEFAULT_PORT = 22;
    private static final String NONE = "none";

    /**
     * Keywords of ssh_config(5) that change the login, with the values that do not: where to connect, whom to trust, what to log in
     * with, and which algorithms are permitted. Without them the service could use what the configuration forbids.
     */
    private static final List<List<String>> UNSUPPORTED = Stream.of(
                    "AddressFamily any",
                    "BindAddress",
                    "BindInterface",
                    "CanonicalizeHostname no none",
                    "CASignatureAlgorithms",
                    "Ciphers",
                    "GlobalKnownHostsFile none /dev/null",
                    "HostKeyAlgorithms",
                    "KexAlgorithms",
                    "KnownHostsCommand none",
                    "MACs",
                    "PKCS11Provider none",
                    "ProxyCommand none",
                    "PubkeyAcceptedAlgorithms",
                    "PubkeyAcceptedKeyTypes",
                    "PubkeyAuthentication yes unbound host-bound",
                    "RefuseConnection",
                    "RequiredRSASize",
                    "RevokedHostKeys none",
                    "SmartcardDevice none")
            .map(line -> List.of(line.split(" ", -1)))
            .toList();

    /**
     * Returns the jump servers in order, and the machine itself as the last hop.
     *
     * @throws IllegalArgumentException if the SSH configuration is invalid for this machine
     */
    List<Hop> resolve(HostAddress address) {
        var user = firstOf(address.user(), settings.username(), configured(address, "User"));
        return resolve(address, hop(address, user), 1);
    }

    private List<Hop> resolve(HostAddress address, Hop last, int jumps) {
        if (jumps > MAX_HOPS) {
            throw new IllegalArgumentException("ProxyJump uses more than " + MAX_HOPS + " servers");
        }
        requireSupported(address);
        var hops = new ArrayList<Hop>();
        for (var each : jumps(address)) {
            requireSupported(each);
            // The settings name the user of the machines. A jump server has its own user if it has a section.
            var jump = hop(each, firstOf(each.user(), configured(each, "User"), settings.username()));
            if (jump.host().equals(last.host())
                    && jump.port() == last.port()) { // a ProxyJump under "Host *" also applies to the jump servers
                break;
            }
            hops.addAll(hops.isEmpty() ? resolve(each, jump, jumps + 1) : List.of(jump));
        }
        hops.add(last);
        return List.copyOf(hops);
    }

    private void requireSupported(HostAddress address) {
        for (var keyword : UNSUPPORTED) {
            require(
                    config.firstLine(address.host(), keyword.getFirst()).stream()
                            .allMatch(keyword::contains),
                    keyword.getFirst(),
                    address);
        }
        var methods = configured(address, "PreferredAuthentications");
        require(
                methods == null || List.of(methods.split(",", -1)).contains("publickey"),
                "PreferredAuthentications",
                address);
        if (identities(address).findAny().isEmpty()) { // so ssh-agent is used
            require(
                    List.of("SSH_AUTH_SOCK").containsAll(config.firstLine(address.host(), "IdentityAgent")),
                    "IdentityAgent",
                    address);
            require(
                    List.of("no").containsAll(config.firstLine(address.host(), "IdentitiesOnly")),
                    "IdentitiesOnly",
                    address);
        }
    }

    private static void require(boolean isSupported, String keyword, HostAddress address) {
        if (!isSupported) {
            throw new IllegalArgumentException("%s for %s is not supported".formatted(keyword, address));
        }
    }

    private List<HostAddress> jumps(HostAddress address) {
        var value = configured(address, "ProxyJump");
        return value == null || value.equals(NONE) ? List.of() : HostAddress.parseList(value);
    }

    private Hop hop(HostAddress address, String user) {
        var named = configured(address, "HostName");
        var host = named == null ? address.host() : named.replace("%h", address.host());
        return new Hop(
                address.toString(),
                user,
                host,
                port(address),
                configured(address, "HostKeyAlias"),
                paths(identities(address).toList(), host, user),
                paths(config.all(address.host(), "CertificateFile"), host, user),
                knownHosts(address, host, user));
    }

    private int port(HostAddress address) {
        var configured = configured(address, "Port");
        var port = address.port() != null || configured == null
                ? address.port()
                : HostAddress.parse("h:" + configured).port();
        return port == null ? DEFAULT_PORT : port;
    }

    private Stream<String> identities(HostAddress address) {
        var ours = settings.identityFile();
        var names = ours == null ? config.all(address.host(), "IdentityFile") : List.of(ours.toString());
        return names.stream().filter(each -> !each.equals(NONE));
    }

    /** The configuration of a machine takes precedence over the settings, which apply to all machines. */
    private List<Path> knownHosts(HostAddress address, String host, String user) {
        var names = config.firstLine(address.host(), "UserKnownHostsFile");
        return names.isEmpty() ? List.of(settings.knownHosts()) : paths(names, host, user);
    }

    private List<Path> paths(List<String> names, String host, String user) {
        return names.stream()
                .filter(each -> !each.equals(NONE))
                .map(each -> path(each, host, user))
                .toList();
    }

    private Path path(String name, String host, String user) {
        var expanded = name.startsWith("~/") ? home + name.substring(1) : name;
        var path = Path.of(expanded.replace("%d", home).replace("%h", host).replace("%r", user));
        if (!path.isAbsolute() || path.toString().indexOf('%') >= 0) {
            throw new IllegalArgumentException("the path " + name + " is not absolute, or contains an unknown % token");
        }
        return path;
    }

    private @Nullable String configured(HostAddress address, String keyword) {
        return config.first(address.host(), keyword);
    }

    private String firstOf(@Nullable String... users) {
        return Stream.of(users).filter(Objects::nonNull).findFirst().orElse(ownUser);
    }

    /**
     * One server on the path to a machine, or the machine itself.
     *
     * @param name its name in the host list or the SSH configuration
     * @param host the name or address to connect to
     * @param keyAlias the name of its entry in known_hosts (HostKeyAlias); null for {@code host} and the port
     * @param identities private keys to log in with, in the order of use
     * @param certificates certificates of these keys, beside those whose names begin with that of a key
     * @param knownHosts the files that must contain its host key
     */
    record Hop(
            String name,
            String user,
            String host,
            int port,
            @Nullable String keyAlias,
            List<Path> identities,
            List<Path> certificates,
            List<Path> knownHosts) {

        /** Its name in a known_hosts file. */
        String keyName() {
            if (keyAlias != null) {
                return keyAlias;
            }
            return port == 22 ? host : "[" + host + "]:" + port;
        }
    }
}
