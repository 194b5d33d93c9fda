package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.notification.TerminalFiles.Result;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.UserTerminal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** With real terminals of another user. */
class TerminalFilesTest {
    private static final Path TERMINALS = Path.of("/dev/pts");
    private final long uid = UserTerminal.newUid();
    private static final byte[] TEXT = "\r\nhello raz\r\n".getBytes(StandardCharsets.UTF_8);

    @TempDir
    Path folder;

    private final TerminalFiles files = new TerminalFiles(TERMINALS);

    @Test
    void userReadsTheMessage() throws IOException {
        requireTerminals();
        try (var terminal = UserTerminal.accepting(uid)) {
            assertThat(files.write(terminal.number(), uid, TEXT)).isEqualTo(Result.WRITTEN);
            await().until(() -> terminal.screen().contains("hello raz"));
        }
    }

    @Test
    void terminalThatRefusesMessagesGetsNone() throws IOException {
        requireTerminals();
        try (var terminal = UserTerminal.refusing(uid)) {
            assertThat(files.write(terminal.number(), uid, TEXT)).isEqualTo(Result.REFUSED);
            assertThat(terminal.screen()).isEmpty();
        }
    }

    /** A container has terminals of the same numbers. */
    @Test
    void terminalOfAnotherUserGetsNone() throws IOException {
        requireTerminals();
        try (var terminal = UserTerminal.accepting(uid)) {
            assertThat(files.write(terminal.number(), UserTerminal.newUid(), TEXT))
                    .isEqualTo(Result.REFUSED);
            assertThat(terminal.screen()).isEmpty();
        }
    }

    @Test
    void terminalThatNobodyReadsDoesNotBlock() throws IOException {
        requireTerminals();
        try (var terminal = UserTerminal.unread(uid)) {
            await().until(() -> files.write(terminal.number(), uid, TEXT) == Result.NOT_READ);
        }
    }

    @Test
    void closedTerminalIsAnError() {
        assertThatThrownBy(() -> files.write(1_048_000, uid, TEXT))
                .isInstanceOfSatisfying(
                        Errno.class, error -> assertThat(error.is(Errno.ENOENT)).isTrue());
    }

    /** Opening a FIFO would block, and its reader would get the message. */
    @Test
    void onlyTheKernelsTerminalsAreOpened() throws Exception {
        Fifo.at(folder.resolve("7"));
        Files.createSymbolicLink(folder.resolve("8"), Path.of("/dev/tty"));
        var file = Files.writeString(folder.resolve("9"), "");
        var fake = new TerminalFiles(folder);
        for (var number : new int[] {7, 8, 9}) {
            assertThatThrownBy(() -> fake.write(number, 0, TEXT)).hasMessage(folder + " is no devpts");
        }
        assertThat(file).isEmptyFile();
    }

    @Test
    void linkToTheTerminalsIsNotFollowed() throws IOException {
        var link = Files.createSymbolicLink(folder.resolve("pts"), TERMINALS);
        assertThatThrownBy(() -> new TerminalFiles(link).write(0, 0, TEXT)).isInstanceOf(Errno.class);
    }

    private static void requireTerminals() throws IOException {
        Requirements.root();
        Requirements.program("/usr/bin/script", "bsdutils");
        Requirements.program("/usr/bin/setpriv", "util-linux");
    }
}
