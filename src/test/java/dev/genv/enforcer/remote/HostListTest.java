package dev.genv.enforcer.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class HostListTest {

    @Test
    void readsWhatStandsBetweenCommas() {
        assertThat(HostList.parse(" gpu-1, raz@gpu-2:2222 ,[::1]:22,, ")).hasToString("[gpu-1, gpu-2:2222, [::1]:22]");
        assertThat(HostList.parse("raz@gpu-2:2222").getFirst().user()).isEqualTo("raz");
        assertThat(HostList.parse(" ")).isEmpty();
    }

    @Test
    void aNameThatComesAgainCountsOnce() {
        var hosts = HostList.parse("raz@gpu-1,gpu-2,root@GPU-1,gpu-1:22,gpu-2");

        assertThat(hosts).hasToString("[gpu-1, gpu-2, gpu-1:22]");
        assertThat(hosts.getFirst().user()).isEqualTo("raz");
    }

    @Test
    void namesTheOneThatIsWrong() {
        assertThatThrownBy(() -> HostList.parse("gpu-1,gpu\u001b2,gpu-3"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("\"gpu\\u001b2\" is not the name of a host; right is [user@]host[:port], such as"
                        + " raz@gpu-2:2222 or [::1]:22");
    }

    @Test
    void readsAHostALine() {
        assertThat(HostList.parseLines("# all of them\n\n gpu-1 # the old one\r\nraz@gpu-2#new\n#gpu-3\ngpu-1"))
                .isEqualTo(List.of(HostAddress.parse("gpu-1"), HostAddress.parse("raz@gpu-2")));
        assertThat(HostList.parseLines("")).isEmpty();
    }

    @Test
    void namesTheLinesThatAreWrong() {
        assertThatThrownBy(() -> HostList.parseLines("gpu-1\ngpu-2,gpu-3\n\n-x\n"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("line 2: \"gpu-2,gpu-3\" is not the name of a host; right is ")
                .hasMessageContaining("; line 4: \"-x\" is not the name of a host; right is ");
    }

    @Test
    void doesNotComplainWithoutEnd() {
        assertThatThrownBy(() -> HostList.parseLines("-\n".repeat(1_000)))
                .hasMessageContaining("line 5: ")
                .extracting(Throwable::getMessage)
                .asString()
                .doesNotContain("line 6: ")
                .hasSizeLessThan(1_000);
        assertThatThrownBy(() -> HostList.parseLines("x y".repeat(100_000)))
                .hasMessageMatching("line 1: \".{81}\" is .*");
    }

    @Test
    void thereIsAnEndToLines() {
        assertThat(HostList.parseLines("gpu-1\n".repeat(HostList.MOST_LINES))).hasSize(1);
        assertThat(HostList.parseLines("gpu-1\n".repeat(HostList.MOST_LINES - 1) + "gpu-1"))
                .hasSize(1);
        assertThatThrownBy(() -> HostList.parseLines("gpu-1\n".repeat(HostList.MOST_LINES + 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("more than 100000 lines");
        assertThatThrownBy(() -> HostList.parseLines("\n".repeat(HostList.MOST_LINES) + "gpu-1"))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
