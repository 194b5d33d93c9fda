package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.notification.PersonalDelivery.MessageSource;
import dev.genv.enforcer.notification.TerminalDelivery.Terminals;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import dev.genv.enforcer.testsupport.linux.UserTerminal;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TerminalDeliveryTest {
    private final long uid = UserTerminal.newUid();

    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final UserDirectory users = new UserDirectory();
    private final TerminalDelivery delivery = new TerminalDelivery(
            new MessageSource(users, new NoticeText(Optional.empty(), new ViolationRegistry(0)), false),
            Path.of("/proc"),
            "gpu-1",
            time.ticker(),
            new SimpleMeterRegistry());

    @BeforeEach
    void requireTerminals() throws Exception {
        users.setCurrentUpTo(Long.MAX_VALUE);
        Requirements.root();
        Requirements.program("/usr/bin/script", "bsdutils");
    }

    @Test
    void burstIsOneMessageWithoutControlCharacters() throws Exception {
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
        try (var terminal = UserTerminal.unread(uid)) {
            var terminals = Terminals.of(Path.of("/proc"));
            await().until(() -> terminals.write(terminal.number(), uid, new byte[] {'x'}) == Terminals.Result.NOT_READ);
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
    void rootAndUsersWithoutATerminalGetNothing() throws InterruptedException {
        act(1, 0, "…");
        act(2, UserTerminal.newUid(), "…");
        delivery.run(log);
        time.pass(Duration.ofSeconds(1));
        delivery.run(log);
        assertThat(delivery.sent.count()).isZero();
        assertThat(delivery.failed.count()).isZero();
    }

    private void act(int pid, long uid, String message) {
        var violation = violationOf(process(pid).uid(uid)).id("id-" + pid).message(message);
        log.append(time.ticker().now(), List.of(action(violation, pid, Outcome.SIGNALLED)));
    }
}
