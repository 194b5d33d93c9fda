package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.notification.TerminalDelivery.Terminals;
import dev.genv.enforcer.notification.TerminalDelivery.Terminals.Result;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.UserTerminal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** With real terminals of another user. */
class TerminalsTest {
    private static final Path PROC = Path.of("/proc");
    private static final Path TERMINALS = Path.of("/dev/pts");
    private final long uid = UserTerminal.newUid();
    private static final byte[] TEXT = "\r\nhello raz\r\n".getBytes(StandardCharsets.UTF_8);

    @TempDir
    Path folder;

    private final Terminals terminals = new Terminals(PROC, TERMINALS);

    @ParameterizedTest
    @CsvSource({
        "'812 (python) S 1 812 812 34816 812 0', 0",
        "'812 (python) S 1 812 812 34821 812 0', 5",
        "'812 (a) b (c)) S 1 812 812 34821 812 0', 5",
        // 300 is 0x12c: its upper bits follow the major number (new_encode_dev of the kernel)
        "'812 (python) S 1 812 812 1083436 812 0', 300"
    })
    void readsTheNumberFromStat(String stat, int number) {
        assertThat(Terminals.controlling(stat)).contains(number);
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
        assertThat(Terminals.controlling(stat)).isEmpty();
    }

    @Test
    void terminalThatRefusesMessagesGetsNone() throws IOException {
        requireTerminals();
        try (var terminal = UserTerminal.refusing(uid)) {
            assertThat(terminals.write(terminal.number(), uid, TEXT)).isEqualTo(Result.REFUSED);
            assertThat(terminal.screen()).isEmpty();
        }
    }

    /** A container has terminals of the same numbers. */
    @Test
    void terminalOfAnotherUserGetsNone() throws IOException {
        requireTerminals();
        try (var terminal = UserTerminal.accepting(uid)) {
            assertThat(terminals.write(terminal.number(), UserTerminal.newUid(), TEXT))
                    .isEqualTo(Result.REFUSED);
            assertThat(terminal.screen()).isEmpty();
        }
    }

    @Test
    void terminalThatNobodyReadsDoesNotBlock() throws IOException {
        requireTerminals();
        try (var terminal = UserTerminal.unread(uid)) {
            await().until(() -> terminals.write(terminal.number(), uid, TEXT) == Result.NOT_READ);
        }
    }

    @Test
    void closedTerminalIsAnError() {
        assertThatThrownBy(() -> terminals.write(1_048_000, uid, TEXT))
                .isInstanceOfSatisfying(
                        Errno.class, error -> assertThat(error.is(Errno.ENOENT)).isTrue());
    }

    /** Opening a FIFO would block, and its reader would get the message. */
    @Test
    void onlyTheKernelsTerminalsAreOpened() throws Exception {
        Fifo.at(folder.resolve("7"));
        Files.createSymbolicLink(folder.resolve("8"), Path.of("/dev/tty"));
        var file = Files.writeString(folder.resolve("9"), "");
        var fake = new Terminals(PROC, folder);
        for (var number : new int[] {7, 8, 9}) {
            assertThatThrownBy(() -> fake.write(number, 0, TEXT)).hasMessage(folder + " is no devpts");
        }
        assertThat(file).isEmptyFile();
    }

    @Test
    void linkToTheTerminalsIsNotFollowed() throws IOException {
        var link = Files.createSymbolicLink(folder.resolve("pts"), TERMINALS);
        assertThatThrownBy(() -> new Terminals(PROC, link).write(0, 0, TEXT)).isInstanceOf(Errno.class);
    }

    private static void requireTerminals() throws IOException {
        Requirements.root();
        Requirements.program("/usr/bin/script", "bsdutils");
        Requirements.program("/usr/bin/setpriv", "util-linux");
    }
}
