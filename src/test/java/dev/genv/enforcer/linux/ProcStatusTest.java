package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.linux.ProcStat.ProcStatus;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProcStatusTest {
    private static final String STATUS = """
            Name:\tpython
            Umask:\t0022
            State:\tS (sleeping)
            Tgid:\t4711
            Ngid:\t0
            Pid:\t4712
            PPid:\t1
            TracerPid:\t0
            Uid:\t1003\t1004\t1005\t1006
            Gid:\t100\t100\t100\t100
            """;

    @Test
    void returnsTheRealUidAndTheProcess() {
        assertThat(ProcStatus.realUid(bytes(STATUS))).isEqualTo(1003);
        assertThat(ProcStatus.processId(bytes(STATUS))).isEqualTo(4711);
    }

    /** The kernel writes a line break in a name as two characters. */
    @Test
    void isNotDeceivedByTheName() {
        assertThat(ProcStatus.realUid(bytes("Name:\tx\\nUid:\t0\nUid:\t1003\t0\t0\t0\n")))
                .isEqualTo(1003);
        assertThat(ProcStatus.realUid(bytes("Name:\tUid: 0\nUid:\t1003\t0\t0\t0\n")))
                .isEqualTo(1003);
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "4294967295, 4294967295", "65534, 65534"})
    void returnsEveryUid(String text, long uid) {
        assertThat(ProcStatus.realUid(bytes("Uid:\t%s\t1\t1\t1\n".formatted(text))))
                .isEqualTo(uid);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "Uid:",
                "Uid:\t",
                "Uid:\t1003",
                "Uid:\tx\n",
                "Uid:\t-1\t1\n",
                "Uid:\t12345678901\t1\n",
                " Uid:\t1\n",
                "\n"
            })
    void anotherFormHasNone(String status) {
        assertThat(ProcStatus.realUid(bytes(status))).isEqualTo(ProcStatus.NONE);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
