package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.remote.ssh.HopResolver.Hop;
import dev.genv.enforcer.remote.ssh.SshAccess.SshSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HopResolverTest {
    private static final Path KNOWN_HOSTS = Path.of("/etc/known");
    private static final SshSettings MINIMAL_SETTINGS =
            new SshSettings(null, null, null, null, null, KNOWN_HOSTS, Duration.ofSeconds(1));
    private static final SshSettings ALL_SETTINGS =
            new SshSettings("root", Path.of("/etc/id"), null, null, null, KNOWN_HOSTS, Duration.ofSeconds(1));

    @TempDir
    static Path folder;

    @Test
    void usesTheSettingsWithoutAConfiguration() {
        assertThat(resolver(ALL_SETTINGS, "").resolve(HostAddress.parse("gpu-1")))
                .containsExactly(
                        new Hop("gpu-1", "root", "gpu-1", 22, null, List.of(Path.of("/etc/id")), List.of(KNOWN_HOSTS)));
        assertThat(resolver(MINIMAL_SETTINGS, "").resolve(HostAddress.parse("raz@[::1]:2222")))
                .containsExactly(new Hop("[::1]:2222", "raz", "::1", 2222, null, List.of(), List.of(KNOWN_HOSTS)));
        assertThat(hop(MINIMAL_SETTINGS, "").user()).isEqualTo("me");
    }

    @Test
    void configurationCompletesTheSettings() {
        var config = """
                Host gpu-1
                HostName %h.example.org
                Port 23
                User raz
                HostKeyAlias known-as
                IdentityFile ~/.ssh/%r
                IdentityFile none
                IdentityFile /keys/%h
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
    void jumpHostsPrecedeTheTargetInOrder() {
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

    @Test
    void refusesCircularJumps() {
        assertThatThrownBy(() -> hops("Host gpu-1\nProxyJump a\nHost a\nProxyJump b\nHost b\nProxyJump a"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("more than 8 servers");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Port 0",
                "Port x",
                "ProxyCommand nc %h",
                "RevokedHostKeys /etc/ssh/revoked",
                "CASignatureAlgorithms ssh-ed25519",
                "ProxyJump -x",
                "IdentityFile id",
                "IdentityFile ~raz/id",
                "IdentityFile /keys/%i",
                "UserKnownHostsFile known_hosts",
            })
    void refusesInvalidConfiguration(String config) {
        assertThatThrownBy(() -> hop(MINIMAL_SETTINGS, config)).isInstanceOf(IllegalArgumentException.class);
    }

    private static Hop hop(SshSettings settings, String config) {
        return resolver(settings, config).resolve(HostAddress.parse("gpu-1")).getLast();
    }

    private static String hops(String config) {
        return String.join(
                " ",
                resolver(ALL_SETTINGS, config).resolve(HostAddress.parse("gpu-1")).stream()
                        .map(each -> each.user() + "@" + each.host() + ":" + each.port())
                        .toList());
    }

    private static HopResolver resolver(SshSettings settings, String config) {
        try {
            var file = Files.writeString(folder.resolve("config"), config);
            return new HopResolver(settings, SshConfig.read(file, "/home/me"), "me", "/home/me");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
