package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.UserTerminal;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ControllingTerminalsTest {
    private static final Path PROC = Path.of("/proc");

    @Test
    void findsTheTerminalOfAUser() throws IOException {
        Requirements.root();
        Requirements.program("/usr/bin/script", "bsdutils");
        long uid = UserTerminal.newUid();
        try (var terminal = UserTerminal.accepting(uid)) {
            assertThat(new ControllingTerminals(PROC).byUid().get(uid)).containsExactly(terminal.number());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "'812 (python) S 1 812 812 34816 812 0', 0",
        "'812 (python) S 1 812 812 34821 812 0', 5",
        "'812 (a) b (c)) S 1 812 812 34821 812 0', 5",
        // 300 is 0x12c: its upper bits follow the major number (new_encode_dev of the kernel)
        "'812 (python) S 1 812 812 1083436 812 0', 300"
    })
    void readsTheNumberFromStat(String stat, int number) {
        assertThat(ControllingTerminals.terminal(stat)).contains(number);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "812 (python) S 1 812 812 0 -1 0",
                "812 (bash) S 1 812 812 1025 812 0", // tty1, a console
                "812 (bash) S 1 812 812 1088 812 0", // ttyS0, a serial line
                "812 (python) S 1 812",
                "",
                ")"
            })
    void processWithoutAPseudoterminalHasNone(String stat) {
        assertThat(ControllingTerminals.terminal(stat)).isEmpty();
    }
}
