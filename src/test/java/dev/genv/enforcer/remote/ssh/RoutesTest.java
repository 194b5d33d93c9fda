package dev.genv.enforcer.remote.ssh;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.remote.HostAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RoutesTest {
    private static final Path KNOWN = Path.of("/etc/known");
    private static final SshSettings PLAIN = new SshSettings(null, null, null, null, KNOWN, Duration.ofSeconds(1));
    private static final SshSettings FULL =
            new SshSettings("root", Path.of("/etc/id"), null, null, KNOWN, Duration.ofSeconds(1));

    @Test
    void withoutAConfigurationTheSettingsSayIt() {
        assertThat(routes(FULL, "").to(HostAddress.parse("gpu-1")))
                .containsExactly(
                        new Hop("gpu-1", "root", "gpu-1", 22, null, List.of(Path.of("/etc/id")), List.of(KNOWN)));
        assertThat(routes(PLAIN, "").to(HostAddress.parse("raz@[::1]:2222")))
                .containsExactly(new Hop("[::1]:2222", "raz", "::1", 2222, null, List.of(), List.of(KNOWN)));
        assertThat(hop(PLAIN, "").user()).isEqualTo("me");
    }

    @Test
    void theConfigurationSaysTheRest() {
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

        assertThat(hop(PLAIN, config))
                .isEqualTo(new Hop(
                        "gpu-1",
                        "raz",
                        "gpu-1.example.org",
                        23,
                        "known-as",
                        List.of(Path.of("/home/me/.ssh/raz"), Path.of("/keys/gpu-1.example.org")),
                        List.of(Path.of("/home/me/known"), Path.of("/home/me/more"))));
        assertThat(hop(FULL, config).user()).isEqualTo("root");
        assertThat(hop(FULL, config).identities()).containsExactly(Path.of("/etc/id"));
    }

    @Test
    void keysAreKnownByNameAndPort() {
        assertThat(hop(FULL, "").keyName()).isEqualTo("gpu-1");
        assertThat(hop(FULL, "Port 23").keyName()).isEqualTo("[gpu-1]:23");
        assertThat(hop(FULL, "Port 23\nHostKeyAlias x").keyName()).isEqualTo("x");
    }

    @Test
    void jumpsComeFirstInTheirOrder() {
        assertThat(way("Host gpu-1\nProxyJump a:1,raz@b")).isEqualTo("root@a:1 raz@b:22 root@gpu-1:22");
        assertThat(way("ProxyJump none\nHost gpu-1\nProxyJump a")).isEqualTo("root@gpu-1:22");
    }

    @Test
    void aServerToJumpByHasItsOwnSection() {
        assertThat(way("Host gpu-1\nProxyJump a\nHost a\nHostName a.example.org\nUser jump\nPort 23\nProxyJump b"))
                .isEqualTo("root@b:22 jump@a.example.org:23 root@gpu-1:22");
    }

    @Test
    void aJumpForEverybodyIsNoneForTheServersOnTheWay() {
        assertThat(way("Host *\nProxyJump a,b")).isEqualTo("root@a:22 root@b:22 root@gpu-1:22");
        assertThat(way("Host *\nProxyJump gpu-1")).isEqualTo("root@gpu-1:22");
    }

    @Test
    void jumpsInCirclesAreRefused() {
        assertThatThrownBy(() -> way("Host gpu-1\nProxyJump a\nHost a\nProxyJump b\nHost b\nProxyJump a"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("more than 8 servers");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Port 0",
                "Port x",
                "ProxyCommand nc %h",
                "ProxyJump -x",
                "IdentityFile id",
                "IdentityFile ~raz/id",
                "IdentityFile /keys/%i",
                "UserKnownHostsFile known_hosts",
            })
    void whatMakesNoSenseIsRefused(String config) {
        assertThatThrownBy(() -> hop(PLAIN, config)).isInstanceOf(IllegalArgumentException.class);
    }

    private static Hop hop(SshSettings settings, String config) {
        return routes(settings, config).to(HostAddress.parse("gpu-1")).getLast();
    }

    private static String way(String config) {
        return String.join(
                " ",
                routes(FULL, config).to(HostAddress.parse("gpu-1")).stream()
                        .map(each -> each.user() + "@" + each.host() + ":" + each.port())
                        .toList());
    }

    private static Routes routes(SshSettings settings, String config) {
        return new Routes(settings, SshConfig.parse(config), "me", "/home/me");
    }
}
