package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class HostAddressTest {
    private static final String EXPECTED = "; expected [user@]host[:port], such as raz@gpu-2:2222 or [::1]:22";

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
        assertThat(HostAddress.parse(text))
                .isEqualTo(new HostAddress(user, host, port))
                .hasToString(name);
    }

    static Stream<String> invalidAddresses() {
        return Stream.concat(
                Stream.of("", " ", "gpu 1", "gpu-1 ", "gpu\n1", "gpu-1:2 2", "ra z@gpu-1", "a".repeat(256)),
                Stream.of(("@ raz@ @gpu-1 :22 gpu-1: gpu-1:0 gpu-1:65536 gpu-1:+22 gpu-1:ssh gpu-1:999999 gpu-1:22:22"
                                + " ::1 [::1 [] []:22 [gpu-1] [::1]22 [::1]: [::1%] -oProxyCommand=id"
                                + " raz@-oProxyCommand=id -raz@gpu-1 gpu-1;id $(id) gpu/1 gpü-1 gpu-1\u0000"
                                + " raz\u001b[2J@gpu-1 [1] [:::g] ssh://gpu-1")
                        .split(" ")));
    }

    @ParameterizedTest
    @MethodSource("invalidAddresses")
    void refusesInvalidAddressAndNamesTheFormat(String text) {
        assertThatThrownBy(() -> HostAddress.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith(EXPECTED);
    }

    @Test
    void listsHaveEachHostOnceAndNameTheInvalidOnes() {
        assertThat(HostAddress.parse("a".repeat(255)).host()).hasSize(255);
        assertThat(HostAddress.parseList(" gpu-1, raz@gpu-2:2222 ,[::1]:22,, "))
                .hasToString("[gpu-1, gpu-2:2222, [::1]:22]");
        assertThat(HostAddress.parseList(" ")).isEmpty();
        var hosts = HostAddress.parseList("raz@gpu-1,gpu-2,root@GPU-1,gpu-1:22,gpu-2");
        assertThat(hosts).hasToString("[gpu-1, gpu-2, gpu-1:22]");
        assertThat(hosts.getFirst().user()).isEqualTo("raz");
        assertThatThrownBy(() -> HostAddress.parseList("gpu-1,gpu\u001b2,gpu-3"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("\"gpu\\u001b2\" is not the name of a host" + EXPECTED);
    }

    @Test
    void readsOneHostPerLine() {
        assertThat(HostAddress.parseLines("# all of them\n\n gpu-1 # the old one\r\nraz@gpu-2#new\n#gpu-3\ngpu-1"))
                .isEqualTo(List.of(HostAddress.parse("gpu-1"), HostAddress.parse("raz@gpu-2")));
        assertThat(HostAddress.parseLines("")).isEmpty();
    }

    @Test
    void namesTheInvalidLinesUpToANumberAndLength() {
        assertThatThrownBy(() -> HostAddress.parseLines("gpu-1\ngpu-2,gpu-3\n\n-x\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("line 2: \"gpu-2,gpu-3\" is not the name of a host; expected ")
                .hasMessageContaining("; line 4: \"-x\" is not the name of a host; expected ");
        assertThatThrownBy(() -> HostAddress.parseLines("-\n".repeat(1_000)))
                .hasMessageContaining("line 5: ")
                .message()
                .doesNotContain("line 6: ")
                .hasSizeLessThan(1_000);
        assertThatThrownBy(() -> HostAddress.parseLines("x y".repeat(100_000)))
                .hasMessageMatching("line 1: \".{81}\" is .*");
    }
}
