package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HostAddressTest {

    @ParameterizedTest
    @CsvSource({
        "gpu-1, , gpu-1, , gpu-1",
        "raz@gpu-2:2222, raz, gpu-2, 2222, gpu-2:2222",
        "gpu-2:22, , gpu-2, 22, gpu-2:22",
        "[::1]:22, , ::1, 22, [::1]:22",
        "raz@[::1], raz, ::1, , [::1]",
        "[fe80::1%eth0]:65535, , fe80::1%eth0, 65535, [fe80::1%eth0]:65535",
        "[::ffff:127.0.0.1], , ::ffff:127.0.0.1, , [::ffff:127.0.0.1]",
        "127.0.0.2:1, , 127.0.0.2, 1, 127.0.0.2:1",
        "raz@corp.example@gpu-1.example.org, raz@corp.example, gpu-1.example.org, , gpu-1.example.org",
        "CORP\\raz@gpu_1, CORP\\raz, gpu_1, , gpu_1",
    })
    void readsUserHostAndPort(String text, String user, String host, Integer port, String name) {
        var address = HostAddress.parse(text);

        assertThat(address).isEqualTo(new HostAddress(user, host, port)).hasToString(name);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "@",
                "raz@",
                "@gpu-1",
                ":22",
                "gpu-1:",
                "gpu-1:0",
                "gpu-1:65536",
                "gpu-1:+22",
                "gpu-1:2 2",
                "gpu-1:ssh",
                "gpu-1:999999",
                "gpu-1:22:22",
                "::1",
                "[::1",
                "[]",
                "[]:22",
                "[gpu-1]",
                "[::1]22",
                "[::1]:",
                "[::1%]",
                "-oProxyCommand=id",
                "raz@-oProxyCommand=id",
                "-raz@gpu-1",
                "gpu 1",
                "gpu-1 ",
                "gpu\n1",
                "gpu-1;id",
                "$(id)",
                "gpu/1",
                "gpü-1",
                "gpu-1\u0000",
                "raz\u001b[2J@gpu-1",
                "ra z@gpu-1",
                "[1]",
                "[:::g]",
                "ssh://gpu-1",
            })
    void refusesInvalidAddressAndNamesTheFormat(String text) {
        assertThatThrownBy(() -> HostAddress.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("; expected [user@]host[:port], such as raz@gpu-2:2222 or [::1]:22");
    }

    @Test
    void refusesHostNameLongerThan255Characters() {
        assertThat(HostAddress.parse("a".repeat(255)).host()).hasSize(255);
        assertThatThrownBy(() -> HostAddress.parse("a".repeat(256))).isInstanceOf(IllegalArgumentException.class);
    }
}
