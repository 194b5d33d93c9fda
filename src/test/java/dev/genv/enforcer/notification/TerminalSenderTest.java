package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.notification.Sender.Message;
import dev.genv.enforcer.notification.Sender.Reply;
import dev.genv.enforcer.notification.Sender.ReplyKind;
import dev.genv.enforcer.notification.TerminalSender.Terminals;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.CurrentProcess;
import dev.genv.enforcer.testsupport.linux.Programs;
import dev.genv.enforcer.testsupport.linux.UserTerminal;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** With real terminals of another user. */
class TerminalSenderTest {
    private static final Path PROC = Path.of("/proc");
    private static final Path TERMINALS = Path.of("/dev/pts");
    private static final byte[] TEXT = "\r\nhello raz\r\n".getBytes(StandardCharsets.UTF_8);

    @TempDir
    Path folder;

    private final long uid = UserTerminal.newUid();
    private final Terminals terminals = new Terminals(PROC, TERMINALS);
    private final TerminalSender sender =
            new TerminalSender(NoticeFixture.texts(new UserDirectory(false)), terminals, "gpu-1");

    @Test
    void burstIsOneMessageWithoutControlCharacters() throws Exception {
        requireTerminals();
        try (var terminal = UserTerminal.accepting(uid)) {
            var notices = IntStream.rangeClosed(1, 5)
                    .mapToObj(pid -> notice(pid, uid, "\u001b[2J evil \u0007"))
                    .toList();
            assertThat(sender.send(new Message(Long.toString(uid), notices, 7))).isEqualTo(Reply.ACCEPTED);
            await().until(() -> terminal.screen().contains("and 9 more messages about your processes"));
            assertThat(terminal.screen().replace("\r", "")) // the terminal adds carriage returns
                    .startsWith("\ngenv-enforcer on gpu-1, 2026-11-20 09:22:28 UTC: The service sent SIGTERM")
                    .contains("\\u001b[2J evil \\u0007")
                    .doesNotContainPattern("[\\p{Cntrl}&&[^\\n]]");
        }
    }

    @Test
    void terminalThatNobodyReadsDelaysNothing() throws Exception {
        requireTerminals();
        try (var _ = UserTerminal.unread(uid)) {
            await().until(() -> terminals.write(uid, new byte[] {'x'}) == 0);
            var message = new Message(Long.toString(uid), List.of(notice(1, uid, "…")), 0);
            assertThat(sender.send(message).kind()).isEqualTo(ReplyKind.NOBODY);
        }
    }

    @Test
    void accountsGetTheirNoticesAndRootGetsNone() {
        assertThat(sender.recipients(notice(1, 0, "…")).known()).isEmpty();
        assertThat(sender.recipients(notice(2, 1003, "…")).known()).containsOnlyKeys("1003");
    }

    private static Notice notice(int pid, long uid, String message) {
        var violation =
                violationOf(process(pid).uid(uid)).environment("e" + pid).message(message);
        return NoticeFixture.notice(action(violation, pid, Outcome.SIGNALLED)).orElseThrow();
    }

    /** 300 is 0x12c: its upper bits follow the major number (new_encode_dev of the kernel). The others are no pseudoterminals. */
    @ParameterizedTest
    @CsvSource({
        "'812 (a) b (c)) S 1 812 812 34821 812 0', 5",
        "'812 (python) S 1 812 812 1083436 812 0', 300",
        "'812 (python) S 1 812 812 0 -1 0', -1",
        "'812 (bash) S 1 812 812 1025 812 0', -1",
        "'812 (python) S 1 812', -1"
    })
    void readsTheNumberOfTheControllingTerminalFromStat(String stat, int number) {
        assertThat(Terminals.controlling(stat.getBytes(StandardCharsets.UTF_8))).isEqualTo(number);
    }

    @Test
    void terminalThatRefusesMessagesOrOfAnotherUserGetsNone() throws IOException {
        requireTerminals();
        var other = UserTerminal.newUid();
        try (var refusing = UserTerminal.refusing(uid);
                var accepting = UserTerminal.accepting(other)) {
            assertThat(terminals.write(uid, TEXT)).isZero();
            assertThat(refusing.screen()).isEmpty();
            assertThat(accepting.screen()).isEmpty();
            assertThat(terminals.write(other, TEXT)).isEqualTo(1);
            await().until(() -> accepting.screen().contains("hello raz"));
        }
    }

    /** Opening a FIFO would block, and its reader would get the message. */
    @Test
    void onlyTheKernelsTerminalsAreOpened() throws Exception {
        Programs.fifo(folder.resolve("7"));
        Files.createSymbolicLink(folder.resolve("8"), Path.of("/dev/tty"));
        var file = Files.writeString(folder.resolve("9"), "");
        Files.setAttribute(folder.resolve("7"), "unix:mode", 0666);
        Files.setAttribute(file, "unix:mode", 0666);
        assertThat(new Terminals(PROC, folder).write(CurrentProcess.uid(), TEXT))
                .isZero();
        assertThat(file).isEmptyFile();
    }

    @Test
    void linkToTheTerminalsIsNotFollowed() throws IOException {
        var link = Files.createSymbolicLink(folder.resolve("pts"), TERMINALS);
        assertThatThrownBy(() -> new Terminals(PROC, link).write(0, TEXT)).isInstanceOf(Errno.class);
    }

    private static void requireTerminals() throws IOException {
        Requirements.root();
        Requirements.program("/usr/bin/script", "bsdutils");
        Requirements.program("/usr/bin/setpriv", "util-linux");
    }
}
