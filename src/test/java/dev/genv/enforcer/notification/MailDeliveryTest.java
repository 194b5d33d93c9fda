package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.fleet;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;

import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRegistry;
import dev.genv.enforcer.notification.MailDelivery.MailSender;
import dev.genv.enforcer.notification.MailDelivery.MailSender.Tls;
import dev.genv.enforcer.notification.PersonalDelivery.Limits;
import dev.genv.enforcer.notification.PersonalDelivery.MessageSource;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import jakarta.mail.MessagingException;
import jakarta.mail.internet.MimeMessage;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The servers are real, and the time is not. */
class MailDeliveryTest {
    private static final String LOOPBACK = "127.0.0.1";
    private static final Duration COLLECTED = Duration.ofSeconds(10);
    private static final RandomGenerator NO_JITTER = () -> 0;
    private static Vertx vertx;

    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final UserDirectory users = new UserDirectory();
    private final GreenMail greenMail =
            new GreenMail(new ServerSetup[] {new ServerSetup(0, LOOPBACK, ServerSetup.PROTOCOL_SMTP)});

    @BeforeAll
    static void openVertx() {
        vertx = Vertx.vertx();
    }

    @AfterAll
    static void closeVertx() {
        vertx.close();
    }

    @BeforeEach
    void start() {
        users.update(fleet(new FakeHost(host("gpu-1")).setAccounts(Map.of("raz", 1003L, "paul", 1004L))));
        users.setCurrentUpTo(Long.MAX_VALUE);
        greenMail.start();
    }

    @AfterEach
    void stop() {
        greenMail.stop();
    }

    @Test
    void burstIsOneMailForEachUser() throws Exception {
        var delivery = delivery(greenMail.getSmtp().getPort(), 6);
        for (var pid = 1; pid <= 5; pid++) {
            act("raz-" + pid, pid, 1003);
        }
        act("paul-1", 6, 1004);
        assertThat(runAll(delivery)).isEqualTo(COLLECTED);
        assertThat(greenMail.getReceivedMessages()).isEmpty();
        time.pass(COLLECTED);
        runAll(delivery);
        assertThat(recipients()).containsExactlyInAnyOrder("raz@example.org", "paul@example.org");
        var mail = greenMail.getReceivedMessagesForDomain("raz@example.org")[0];
        assertThat(mail.getSubject()).isEqualTo("genv-enforcer: 5 messages about your GPU processes");
        assertThat(mail.getContent().toString())
                .contains("2026-11-20 09:22:28 UTC")
                .contains("The service sent SIGTERM to process 1 (python) on gpu-1")
                .contains("SIGTERM to process 5 (python)")
                .doesNotContain("process 6")
                .contains("at most 6 such mails in an hour");
        assertThat(delivery.sent.count()).isEqualTo(2);
    }

    /** The cycle publishes its events before it hands over the accounts. */
    @Test
    void eventWaitsUntilItsUsersAreKnown() throws Exception {
        users.update(fleet());
        users.setCurrentUpTo(0);
        var delivery = delivery(greenMail.getSmtp().getPort(), 6);
        act("a", 1, 1003);
        assertThat(runAll(delivery)).isLessThan(COLLECTED);
        start();
        runAll(delivery);
        time.pass(COLLECTED);
        runAll(delivery);
        assertThat(recipients()).containsExactly("raz@example.org");
    }

    @Test
    void refusedMailIsTriedAgainLaterAndTheThirdFailureIsAProblem() throws Exception {
        try (var smtp = ScriptedSmtp.refusing("RCPT", "451 try again later")) {
            var delivery = delivery(smtp.port(), 6);
            act("a", 1, 1003);
            runAll(delivery);
            time.pass(COLLECTED);
            assertThat(runAll(delivery)).isEqualTo(Duration.ofSeconds(30));
            time.pass(Duration.ofSeconds(30));
            assertThat(runAll(delivery)).isEqualTo(Duration.ofMinutes(1));
            assertThat(delivery.problem()).isEmpty();
            time.pass(Duration.ofMinutes(1));
            runAll(delivery);
            assertThat(delivery.problem().orElseThrow()).contains("451 try again later");
            assertThat(delivery.retried.count()).isEqualTo(3);
            assertThat(delivery.waiting()).isEqualTo(1);
        }
    }

    @Test
    void mailIsGivenUpAfterSomeHours() throws Exception {
        try (var smtp = ScriptedSmtp.refusing("RCPT", "451 try again later")) {
            var delivery = delivery(smtp.port(), 6);
            act("a", 1, 1003);
            runAll(delivery);
            time.pass(COLLECTED);
            for (var i = 0; i < 30; i++) {
                runAll(delivery);
                time.pass(Duration.ofMinutes(15));
            }
            assertThat(delivery.failed.count()).isEqualTo(1);
            assertThat(delivery.waiting()).isZero();
        }
    }

    @Test
    void mailThatIsRefusedPermanentlyIsNotTriedAgain() throws Exception {
        try (var smtp = ScriptedSmtp.refusing("RCPT", "550 no such user")) {
            var delivery = delivery(smtp.port(), 6);
            act("a", 1, 1003);
            runAll(delivery);
            time.pass(COLLECTED);
            runAll(delivery);
            assertThat(delivery.failed.count()).isEqualTo(1);
            assertThat(delivery.retried.count()).isZero();
            assertThat(delivery.waiting()).isZero();
        }
    }

    private void act(String id, int pid, long uid) {
        log.append(
                time.ticker().now(),
                List.of(action(violationOf(process(pid).uid(uid)).id(id), pid, Outcome.SIGNALLED)));
    }

    private Duration runAll(MailDelivery delivery) throws InterruptedException {
        var pause = delivery.run(log);
        while (pause.isZero()) {
            pause = delivery.run(log);
        }
        return pause;
    }

    private List<String> recipients() {
        return Arrays.stream(greenMail.getReceivedMessages())
                .map(MailDeliveryTest::recipient)
                .toList();
    }

    private MailDelivery delivery(int port, int perHour) {
        var server = MailSender.server(LOOPBACK, port, Tls.NONE);
        return new MailDelivery(
                new MessageSource(users, new NoticeText(Optional.empty(), new ViolationRegistry(0)), false),
                new Addresses(Optional.of("{user}@example.org"), Optional.empty(), users),
                new MailSender(
                        vertx,
                        server,
                        Optional.empty(),
                        "genv@gpu.example.org",
                        Optional.empty(),
                        Duration.ofMinutes(3)),
                new Limits(COLLECTED, perHour),
                time.ticker(),
                NO_JITTER,
                new SimpleMeterRegistry());
    }

    private static String recipient(MimeMessage mail) {
        try {
            return mail.getAllRecipients()[0].toString();
        } catch (MessagingException e) {
            throw new AssertionError(e);
        }
    }
}
