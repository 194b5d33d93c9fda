package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class HostListTest {

    @Test
    void splitsTheListAtCommas() {
        assertThat(HostAddress.parseList(" gpu-1, raz@gpu-2:2222 ,[::1]:22,, "))
                .hasToString("[gpu-1, gpu-2:2222, [::1]:22]");
        assertThat(HostAddress.parseList("raz@gpu-2:2222").getFirst().user()).isEqualTo("raz");
        assertThat(HostAddress.parseList(" ")).isEmpty();
    }

    @Test
    void duplicateHostCountsOnce() {
        var hosts = HostAddress.parseList("raz@gpu-1,gpu-2,root@GPU-1,gpu-1:22,gpu-2");

        assertThat(hosts).hasToString("[gpu-1, gpu-2, gpu-1:22]");
        assertThat(hosts.getFirst().user()).isEqualTo("raz");
    }

    @Test
    void namesTheInvalidHost() {
        assertThatThrownBy(() -> HostAddress.parseList("gpu-1,gpu\u001b2,gpu-3"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("\"gpu\\u001b2\" is not the name of a host; expected [user@]host[:port], such as"
                        + " raz@gpu-2:2222 or [::1]:22");
    }

    @Test
    void readsOneHostPerLine() {
        assertThat(HostAddress.parseLines("# all of them\n\n gpu-1 # the old one\r\nraz@gpu-2#new\n#gpu-3\ngpu-1"))
                .isEqualTo(List.of(HostAddress.parse("gpu-1"), HostAddress.parse("raz@gpu-2")));
        assertThat(HostAddress.parseLines("")).isEmpty();
    }

    @Test
    void namesTheInvalidLines() {
        assertThatThrownBy(() -> HostAddress.parseLines("gpu-1\ngpu-2,gpu-3\n\n-x\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("line 2: \"gpu-2,gpu-3\" is not the name of a host; expected ")
                .hasMessageContaining("; line 4: \"-x\" is not the name of a host; expected ");
    }

    @Test
    void limitsTheNumberAndLengthOfReportedLines() {
        assertThatThrownBy(() -> HostAddress.parseLines("-\n".repeat(1_000)))
                .hasMessageContaining("line 5: ")
                .extracting(Throwable::getMessage)
                .asString()
                .doesNotContain("line 6: ")
                .hasSizeLessThan(1_000);
        assertThatThrownBy(() -> HostAddress.parseLines("x y".repeat(100_000)))
                .hasMessageMatching("line 1: \".{81}\" is .*");
    }

    @Test
    void refusesMoreThanTheMaximumNumberOfLines() {
        assertThat(HostAddress.parseLines("gpu-1\n".repeat(HostAddress.MAX_LINES)))
                .hasSize(1);
        assertThat(HostAddress.parseLines("gpu-1\n".repeat(HostAddress.MAX_LINES - 1) + "gpu-1"))
                .hasSize(1);
        assertThatThrownBy(() -> HostAddress.parseLines("gpu-1\n".repeat(HostAddress.MAX_LINES + 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("more than 100000 lines");
        assertThatThrownBy(() -> HostAddress.parseLines("\n".repeat(HostAddress.MAX_LINES) + "gpu-1"))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
