package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.linux.Errno;
import dev.genv.enforcer.notification.PersonalDelivery.MessageSource;
import dev.genv.enforcer.notification.TerminalDelivery.Terminals;
import dev.genv.enforcer.notification.TerminalDelivery.Terminals.Result;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.linux.Fifo;
import dev.genv.enforcer.testsupport.linux.UserTerminal;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** With real terminals of another user. */
class TerminalDeliveryTest {
    private static final Path PROC = Path.of("/proc");
    private static final Path TERMINALS = Path.of("/dev/pts");
    private static final byte[] TEXT = "\r\nhello raz\r\n".getBytes(StandardCharsets.UTF_8);

    @TempDir
    Path folder;

    private final long uid = UserTerminal.newUid();
    private final Terminals terminals = new Terminals(PROC, TERMINALS);
    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final UserDirectory users = new UserDirectory();
    private final TerminalDelivery delivery = new TerminalDelivery(
            new MessageSource(users, NoticeFixture.texts(users), false),
            PROC,
            "gpu-1",
            time.ticker(),
            new SimpleMeterRegistry());

    @BeforeEach
    void knowUsers() {
        users.setCurrentUpTo(Long.MAX_VALUE);
    }

    @Test
    void burstIsOneMessageWithoutControlCharacters() throws Exception {
        requireTerminals();
        try (var terminal = UserTerminal.accepting(uid)) {
            for (var pid = 1; pid <= 5; pid++) {
                act(pid, uid, "\u001b[2J evil \u0007");
            }
            assertThat(delivery.run(log)).isEqualTo(Duration.ofSeconds(1));
            time.pass(Duration.ofSeconds(1));
            delivery.run(log);
            await().until(() -> terminal.screen().contains("and 2 more messages about your processes"));
            assertThat(terminal.screen().replace("\r", "")) // the terminal adds carriage returns
                    .startsWith("\ngenv-enforcer on gpu-1, 2026-11-20 09:22:28 UTC: The service sent SIGTERM")
                    .contains("\\u001b[2J evil \\u0007")
                    .doesNotContainPattern("[\\p{Cntrl}&&[^\\n]]");
            assertThat(delivery.sent.count()).isEqualTo(1);
        }
    }

    @Test
    void messageIsWrittenOnceEvenIfNobodyReadsIt() throws Exception {
        requireTerminals();
        try (var terminal = UserTerminal.unread(uid)) {
            await().until(() -> terminals.write(terminal.number(), uid, new byte[] {'x'}) == Result.NOT_READ);
            act(1, uid, "…");
            delivery.run(log);
            time.pass(Duration.ofSeconds(1));
            delivery.run(log);
            assertThat(delivery.sent.count()).isZero();
            assertThat(delivery.waiting()).isZero();
            assertThat(delivery.problem()).isEmpty();
        }
    }

    @Test
    void rootAndUsersWithoutATerminalGetNothing() throws Exception {
        requireTerminals();
        act(1, 0, "…");
        act(2, UserTerminal.newUid(), "…");
        delivery.run(log);
        time.pass(Duration.ofSeconds(1));
        delivery.run(log);
        assertThat(delivery.sent.count()).isZero();
        assertThat(delivery.failed.count()).isZero();
    }

    private void act(int pid, long uid, String message) {
        var violation = violationOf(process(pid).uid(uid))
                .id("id-" + pid)
                .environment("e" + pid)
                .message(message);
        log.append(time.ticker().now(), List.of(action(violation, pid, Outcome.SIGNALLED)));
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
