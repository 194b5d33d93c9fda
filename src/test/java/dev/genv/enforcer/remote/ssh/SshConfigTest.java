package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.HopResolver.Hop;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SshConfigTest {
    @TempDir
    Path folder;

    /** Lines of a configuration, / for a new line, a keyword, and its values for the host a, all lines and the words of the first one. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        User all / Host a / User one   / Host * / User many         | user         | all, one, many | all
        Host b / Port 1 / Host ? / Port 2                           | PORT         | 2              | 2
        User all                                                    | Port         |                |
        IdentityFile /1 / Host a / IdentityFile /2 / IdentityFile /1 | IdentityFile | /1, /2         | /1
        UserKnownHostsFile /1 "/a b" # both / UserKnownHostsFile /3 | UserKnownHostsFile | /1, /3   | /1, /a b
        User=raz                                                    | User         | raz            | raz
        User = raz                                                  | User         | raz            | raz
        user\\traz                                                  | User         | raz            | raz
        USER "raz" # him                                            | User         | raz            | raz
        Port 1 / # no / User raz\\r                                 | User         | raz            | raz
        """)
    void supportsEveryNotationOfValues(String lines, String keyword, @Nullable String all, @Nullable String first)
            throws Exception {
        var text = lines.replace(" / ", "\n").replace("\\t", "\t").replace("\\r", "\r");
        var config = parse("  " + text + "  ");
        assertThat(String.join(", ", config.all("a", keyword))).isEqualTo(all == null ? "" : all);
        assertThat(String.join(", ", config.firstLine("a", keyword))).isEqualTo(first == null ? "" : first);
        assertThat(config.first("a", keyword)).isEqualTo(all == null ? null : all.split(", ", -1)[0]);
    }

    @ParameterizedTest
    @CsvSource({
        "gpu-1, gpu-1, true",
        "gpu-1, gpu-10, false",
        "gpu-?, gpu-77, false",
        "*.example.org, a.b.example.org, true",
        "*.example.org, axexample.org, false",
        "* !gpu-1, gpu-1, false",
        "!gpu-1, gpu-2, false",
        "\\Q*\\E, x, false",
    })
    void patternsMatchLikeInOpenSsh(String patterns, String host, boolean matches) throws Exception {
        var config = parse("Host " + patterns + "\nUser raz\n");

        assertThat(config.first(host, "User") != null).isEqualTo(matches);
    }

    /** Lines of a configuration, / for a new line, and the user and port of gpu-1. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        Match all / User a                                              | a |
        Match host gpu-* / User a                                       | a |
        Match host x,gpu-1 / User a                                     | a |
        Match host gpu-*,!gpu-1 / User a                                |   |
        Match !host gpu-1 / User a / Match host gpu-1 / User b          | b |
        Match originalhost gpu-1 host x / User a                        |   |
        Match host gpu-1 originalhost gpu-1 / User a / Port 7           | a | 7
        # after HostName, by its value; but a section that has begun goes on
        HostName %h.example.org / Match host gpu-1 / User a             |   |
        HostName %h.example.org / Match host *.example.org / User a     | a |
        HostName %h.example.org / Match originalhost gpu-1 / User a     | a |
        Match host gpu-1 / HostName x / User a                          | a |
        Match host x / HostName y / Host gpu-1 / HostName x / Match host x / User a | a |
        Host other / HostName x / Match host gpu-1 / User a             | a |
        """)
    void supportsMatch(String lines, @Nullable String user, @Nullable String port) throws Exception {
        var config = parse(lines.replace(" / ", "\n"));
        assertThat(config.first("gpu-1", "User")).isEqualTo(user);
        assertThat(config.first("gpu-1", "Port")).isEqualTo(port);
    }

    /** The files a, b and dir/c with users of these names, and dir/sections; the file with an Include, and the user of gpu-1. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        Include a b / User z                            | a
        User z / Include a                              | z
        Include missing missing/* / User z              | z
        Include [b-c] a                                 | b
        Include ?                                       | a
        Include FOLDER/dir/c                              | c
        Include ~/c                                     | c
        Include dir/nested                                | a
        Host other / Include a / Host gpu-1 / User z    | z
        Match host gpu-1 / Include a                    | a
        # a section that begins there ends there, and holds only within the outer one
        Include dir/sections / User z                     | z
        Host gpu-1 / Include dir/sections / User z        | z
        Host other / Include dir/every / Host * / User z  | z
        """)
    void supportsInclude(String lines, String user) throws Exception {
        Files.createDirectory(folder.resolve("dir"));
        for (var name : List.of("a", "b", "dir/c")) {
            Files.writeString(folder.resolve(name), "User " + name.charAt(name.length() - 1));
        }
        Files.writeString(folder.resolve(".hidden"), "User hidden");
        Files.writeString(folder.resolve("dir/nested"), "Include a");
        Files.writeString(folder.resolve("dir/sections"), "Host other\nUser other\n");
        Files.writeString(folder.resolve("dir/every"), "Host *\nUser every\n");
        assertThat(parse(lines.replace(" / ", "\n").replace("FOLDER", folder.toString()))
                        .first("gpu-1", "User"))
                .isEqualTo(user);
    }

    @ParameterizedTest
    @CsvSource({
        "Match user raz, Match user is not understood here",
        "Match exec true, Match exec is not understood here",
        "Match localhost x, Match localhost is not understood here",
        "Match all host x, Match all stands alone",
        "Match !all, Match all stands alone",
        "Match host, Match host has no value",
        "Include */x, only the last name of */x may have wildcards",
        "Include dir, dir is not a regular file",
        "Include loop, Include is nested too deeply",
        "Include bad, bad: line 1: Match user is not understood here",
        "User, User has no value",
        "Host # none, Host has no value",
        "???, is not a keyword and its value",
    })
    void reportsUnsupportedLine(String line, String complaint) throws Exception {
        Files.createDirectory(folder.resolve("dir"));
        Files.writeString(folder.resolve("loop"), "Include loop");
        Files.writeString(folder.resolve("bad"), "Match user raz");
        assertThatThrownBy(() -> parse("Port 1\n" + line + "\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("config: ")
                .hasMessageEndingWith(complaint);
    }

    private SshConfig parse(String text) throws IOException {
        var file = Files.writeString(folder.resolve("config"), text);
        return SshConfig.read(file, folder.resolve("dir").toString());
    }

    private static final Path KNOWN_HOSTS = Path.of("/etc/known");
    private static final SshSettings MINIMAL_SETTINGS =
            new SshSettings(null, null, null, null, null, KNOWN_HOSTS, Duration.ofSeconds(1));
    private static final SshSettings ALL_SETTINGS =
            new SshSettings("root", Path.of("/etc/id"), null, null, null, KNOWN_HOSTS, Duration.ofSeconds(1));

    @Test
    void usesTheSettingsWithoutAConfiguration() throws IOException {
        assertThat(resolver(ALL_SETTINGS, "").resolve(HostAddress.parse("gpu-1")))
                .containsExactly(new Hop(
                        "gpu-1",
                        "root",
                        "gpu-1",
                        22,
                        null,
                        List.of(Path.of("/etc/id")),
                        List.of(),
                        List.of(KNOWN_HOSTS)));
        assertThat(resolver(MINIMAL_SETTINGS, "").resolve(HostAddress.parse("raz@[::1]:2222")))
                .containsExactly(
                        new Hop("[::1]:2222", "raz", "::1", 2222, null, List.of(), List.of(), List.of(KNOWN_HOSTS)));
        assertThat(hop(MINIMAL_SETTINGS, "").user()).isEqualTo("me");
    }

    @Test
    void configurationCompletesTheSettings() throws IOException {
        var config = """
            Host gpu-1
            HostName %h.example.org
            Port 23
            User raz
            HostKeyAlias known-as
            IdentityFile ~/.ssh/%r
            IdentityFile none
            IdentityFile /keys/%h
            CertificateFile ~/%r-cert.pub
            CertificateFile none
            UserKnownHostsFile ~/known none %d/more
            """;

        assertThat(hop(MINIMAL_SETTINGS, config))
                .isEqualTo(new Hop(
                        "gpu-1",
                        "raz",
                        "gpu-1.example.org",
                        23,
                        "known-as",
                        List.of(Path.of("/home/me/.ssh/raz"), Path.of("/keys/gpu-1.example.org")),
                        List.of(Path.of("/home/me/raz-cert.pub")),
                        List.of(Path.of("/home/me/known"), Path.of("/home/me/more"))));
        assertThat(resolver(ALL_SETTINGS, config)
                        .resolve(HostAddress.parse("listed@gpu-1:24"))
                        .getLast())
                .as("the host list has precedence")
                .extracting(Hop::user, Hop::port)
                .containsExactly("listed", 24);
        assertThat(hop(ALL_SETTINGS, config).user()).isEqualTo("root");
        assertThat(hop(ALL_SETTINGS, config).identities()).containsExactly(Path.of("/etc/id"));
    }

    @Test
    void jumpHostsPrecedeTheTargetInOrder() throws IOException {
        assertThat(hops("Host gpu-1\nProxyJump a:1,raz@b")).isEqualTo("root@a:1 raz@b:22 root@gpu-1:22");
        assertThat(hops("ProxyJump none\nHost gpu-1\nProxyJump a")).isEqualTo("root@gpu-1:22");
        assertThat(hops("Host gpu-1\nProxyJump a\nHost a\nHostName a.example.org\nUser jump\nPort 23\nProxyJump b"))
                .as("with the configuration of the jump host")
                .isEqualTo("root@b:22 jump@a.example.org:23 root@gpu-1:22");
        assertThat(hops("Host *\nProxyJump a,b"))
                .as("a jump host of all hosts")
                .isEqualTo("root@a:22 root@b:22 root@gpu-1:22");
        assertThat(hops("Host *\nProxyJump gpu-1")).isEqualTo("root@gpu-1:22");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        Port 0 |
        Port x |
        ProxyJump -x |
        IdentityFile id |
        IdentityFile ~raz/id |
        IdentityFile /keys/%i |
        UserKnownHostsFile known_hosts |
        Host gpu-1 / ProxyJump a / Host a / ProxyJump b / Host b / ProxyJump a | more than 8 servers
        """)
    void refusesInvalidConfiguration(String config, @Nullable String why) {
        assertThatThrownBy(() -> hop(MINIMAL_SETTINGS, config.replace(" / ", "\n")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why == null ? "" : why);
    }

    /** A line of a configuration for a machine without a private key, and the same with a value that is as if it were not there. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        AddressFamily inet                 | AddressFamily any
        BindAddress 127.0.0.1              |
        BindInterface eth0                 |
        CanonicalizeHostname yes           | CanonicalizeHostname no
        CASignatureAlgorithms ssh-ed25519  |
        Ciphers aes256-ctr                 |
        GlobalKnownHostsFile /etc/known    | GlobalKnownHostsFile /dev/null
        GlobalKnownHostsFile none /etc/k   | GlobalKnownHostsFile none
        HostKeyAlgorithms +ssh-rsa         |
        KexAlgorithms -curve25519-sha256   |
        KnownHostsCommand /bin/keys        | KnownHostsCommand none
        MACs hmac-sha2-512                 |
        PKCS11Provider /lib/p11.so         | PKCS11Provider none
        PreferredAuthentications password  | PreferredAuthentications password,publickey
        ProxyCommand nc %h 22              | ProxyCommand none
        PubkeyAcceptedAlgorithms +ssh-rsa  |
        PubkeyAcceptedKeyTypes ssh-ed25519 |
        PubkeyAuthentication no            | PubkeyAuthentication host-bound
        RefuseConnection retired           |
        RequiredRSASize 4096               |
        RevokedHostKeys /etc/ssh/revoked   | RevokedHostKeys none
        SmartcardDevice /lib/p11.so        |
        IdentityAgent /run/agent           | IdentityAgent SSH_AUTH_SOCK
        IdentityAgent none                 | IdentityAgent /run/agent / IdentityFile /etc/id
        IdentitiesOnly yes                 | IdentitiesOnly yes / IdentityFile /etc/id
        """)
    void refusesKeywordsThatChangeTheLogin(String line, @Nullable String harmless) throws IOException {
        for (var config : List.of(line, "Host gpu-1 / ProxyJump a / Host a / " + line)) {
            assertThatThrownBy(() -> hop(MINIMAL_SETTINGS, config.replace(" / ", "\n")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(line.split(" ", -1)[0] + " for ")
                    .hasMessageEndingWith(" is not supported");
        }
        assertThat(hop(MINIMAL_SETTINGS, "Host other\n" + line)).isEqualTo(hop(MINIMAL_SETTINGS, ""));
        if (harmless != null) {
            assertThat(hop(MINIMAL_SETTINGS, harmless.replace(" / ", "\n")).host())
                    .isEqualTo("gpu-1");
        }
    }

    /** What concerns the session, the terminal or people, adds a way to log in, or would be less strict than the service is. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "StrictHostKeyChecking no",
                "SendEnv LANG LC_*",
                "HashKnownHosts yes",
                "GSSAPIAuthentication yes",
                "ForwardAgent yes",
                "ServerAliveInterval 30",
                "ControlMaster auto",
                "AddKeysToAgent yes",
                "Compression yes",
                "LogLevel ERROR",
                "BatchMode yes",
                "PasswordAuthentication no",
                "RequestTTY force",
                "NoSuchKeyword x"
            })
    void ignoresOtherKeywords(String line) throws IOException {
        assertThat(hop(MINIMAL_SETTINGS, line)).isEqualTo(hop(MINIMAL_SETTINGS, ""));
    }

    private Hop hop(SshSettings settings, String config) throws IOException {
        return resolver(settings, config).resolve(HostAddress.parse("gpu-1")).getLast();
    }

    private String hops(String config) throws IOException {
        return String.join(
                " ",
                resolver(ALL_SETTINGS, config).resolve(HostAddress.parse("gpu-1")).stream()
                        .map(each -> each.user() + "@" + each.host() + ":" + each.port())
                        .toList());
    }

    private HopResolver resolver(SshSettings settings, String config) throws IOException {
        return new HopResolver(settings, parse(config), "me", "/home/me");
    }
}
