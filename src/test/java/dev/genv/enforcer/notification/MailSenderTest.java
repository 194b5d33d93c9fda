package dev.genv.enforcer.notification;

import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.fleet;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.notification.MailSender.MailServer;
import dev.genv.enforcer.notification.MailSender.MailServer.Tls;
import dev.genv.enforcer.notification.ScriptedSmtp.Behaviour;
import dev.genv.enforcer.notification.Sender.Limits;
import dev.genv.enforcer.notification.Sender.Message;
import dev.genv.enforcer.notification.Sender.Reply;
import dev.genv.enforcer.notification.Sender.ReplyKind;
import dev.genv.enforcer.testsupport.TestCertificate;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.vertx.core.Vertx;
import io.vertx.ext.mail.MailConfig;
import io.vertx.ext.mail.StartTLSOptions;
import jakarta.mail.internet.MimeMessage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Mails to users and the weekly mail, with a real SMTP server and with servers that misbehave. */
class MailSenderTest {
    private static final String LOOPBACK = "127.0.0.1";
    private static final Duration LONG = Duration.ofMinutes(3);

    @TempDir
    static Path folder;

    private static Vertx vertx;
    private static TestCertificate certificate;
    private static TestCertificate ofOtherHost;

    private final UserDirectory users = new UserDirectory(false);
    private final GreenMail greenMail =
            new GreenMail(new ServerSetup[] {new ServerSetup(0, LOOPBACK, ServerSetup.PROTOCOL_SMTP)});

    @BeforeAll
    static void open() throws IOException {
        vertx = Vertx.vertx();
        certificate = TestCertificate.of("localhost", folder);
        ofOtherHost = TestCertificate.of("mail.example.org", folder);
    }

    @AfterAll
    static void closeVertx() {
        vertx.close();
    }

    @BeforeEach
    void start() {
        users.update(fleet(new FakeHost(host("gpu-1")).setAccounts(Map.of("raz", 1003L, "paul", 1004L))));
        greenMail.start();
        weekly = weekly(greenMail.getSmtp().getPort());
    }

    @AfterEach
    void stop() {
        greenMail.stop();
    }

    @Test
    void messageOfAUserHasItsProcessesAndOneThread() throws Exception {
        var notices =
                IntStream.rangeClosed(1, 5).mapToObj(pid -> acted(pid, 1003)).toList();
        var addresses = new Addresses(Optional.of("{user}@example.org"), Optional.empty(), users);
        var sender = new MailSender(
                NoticeFixture.texts(users),
                addresses,
                server(config(Tls.NONE, greenMail.getSmtp().getPort())),
                Limits.ofUsers(Duration.ZERO, 6));
        assertThat(sender.recipients(notices.getFirst()).known()).containsOnlyKeys("raz@example.org");
        var pending = sender.recipients(acted(1, 7));
        assertThat(pending.known()).isEmpty();
        assertThat(pending.pending()).as("its account is not known yet").containsOnlyKeys(7L);
        assertThat(sender.recipients(
                                1003, Objects.requireNonNull(pending.pending().get(7L)))
                        .known())
                .containsOnlyKeys("raz@example.org");

        for (var attempt = 1; attempt <= 2; attempt++) {
            assertThat(sender.send(new Message("raz@example.org", notices, 3))).isEqualTo(Reply.ACCEPTED);
        }

        var mails = greenMail.getReceivedMessages();
        assertThat(mails).as("two, and two copies").hasSize(4);
        assertThat(mails)
                .extracting(mail -> mail.getHeader("Message-ID", null))
                .as("a receiver can recognize a mail that it gets twice")
                .containsOnly(mails[0].getHeader("Message-ID", null))
                .first()
                .asString()
                .matches("<[0-9a-f-]{36}@gpu\\.example\\.org>");
        assertThat(mails[0].getSubject()).isEqualTo("genv-enforcer: 5 processes on gpu-1 were terminated");
        assertThat(mails[0].getHeader("References", null).replaceAll("\\s+", " "))
                .startsWith("<raz-1@gpu.example.org> <raz-2@gpu.example.org>");
        assertThat(mails[0].getContent().toString().replaceAll("\\s+", " "))
                .contains("2026-11-20 09:22:28 UTC")
                .containsOnlyOnce("The service sent SIGTERM to your processes 1 (python, started ")
                .contains("), 5 (python, started ")
                .contains("There are 3 more.")
                .contains("at most 6 such mails in an hour");
    }

    private static Notice acted(int pid, long uid) {
        var violation = violationOf(process(pid).uid(uid)).id("raz-" + pid);
        return NoticeFixture.notice(action(violation, pid, Outcome.SIGNALLED)).orElseThrow();
    }

    @Test
    void realServerGetsTextAndHeaders() throws Exception {
        assertThat(send(server(config(Tls.NONE, greenMail.getSmtp().getPort()))))
                .isEqualTo(Reply.ACCEPTED);

        assertThat(greenMail.getReceivedMessages())
                .as("to the user, and a copy")
                .hasSize(2);
        var mail = greenMail.getReceivedMessages()[0];
        assertThat(mail.getContent().toString().replace("\r\n", "\n"))
                .isEqualToIgnoringWhitespace("Grüße\n.\n✓ done\n");
        assertThat(mail.getContentType()).isEqualToIgnoringCase("text/plain; charset=utf-8");
        var headers = Map.of(
                "From", "genv@gpu.example.org",
                "To", "raz@example.org",
                "Cc", "admin@example.org",
                "Reply-To", "help@example.org",
                "Subject", "genv-enforcer: process 812",
                "Auto-Submitted", "auto-generated",
                "List-Id", "<genv-enforcer.gpu.example.org>");
        for (var header : headers.entrySet()) {
            assertThat(mail.getHeader(header.getKey())).containsExactly(header.getValue());
        }
        assertThat(mail.getSentDate()).isNotNull();
    }

    @ParameterizedTest
    @CsvSource({
        "78, 0, 1",
        "79, 0, 1",
        "70, 7, 1",
        "70, 8, 2",
        "100, 5, 2",
        "5, 100, 2",
    })
    void linesOfAMailHaveAtMost78Characters(int first, int second, int lines) {
        var text = "a".repeat(first) + (second == 0 ? "" : " " + "b".repeat(second));
        var wrapped = MailServer.wrap("\n" + text + "\n\n" + "word ".repeat(100).strip() + "\n");
        assertThat(wrapped.lines().skip(1).takeWhile(line -> !line.isEmpty())).hasSize(lines);
        assertThat(wrapped.lines().filter(line -> line.contains(" "))).allMatch(line -> line.length() <= 78);
        assertThat(wrapped.replaceAll("\\s+", " ")).isEqualTo((" " + text + " " + "word ".repeat(100)));
    }

    @Test
    void copyThatIsRefusedDoesNotCostTheUserTheMail() throws Exception {
        var refusal = "550 5.1.1 no such user";
        try (var smtp = ScriptedSmtp.refusing("RCPT TO:<ADMIN", refusal)) {
            var reply = send(server(config(Tls.NONE, smtp.port())));
            assertThat(reply.kind()).isEqualTo(ReplyKind.ACCEPTED);
            assertThat(reply.why()).startsWith("the copy was not sent: ").contains(refusal);
            assertThat(smtp.lines()).containsOnlyOnce("DATA").contains("RCPT TO:<raz@example.org>");
        }
        try (var smtp = ScriptedSmtp.refusing("RCPT TO:<RAZ", refusal)) {
            assertThat(failure(server(config(Tls.NONE, smtp.port()))).why()).contains(refusal);
            assertThat(smtp.lines()).as("nobody gets the copy alone").doesNotContain("DATA");
        }
    }

    @Test
    void copyThatMayBeAcceptedLaterIsTriedAgainWithTheMail() throws Exception {
        try (var smtp = ScriptedSmtp.refusing("RCPT TO:<ADMIN", "450 4.2.0 greylisted")) {
            assertThat(failure(server(config(Tls.NONE, smtp.port()))).kind()).isEqualTo(ReplyKind.FAILED);
            assertThat(smtp.lines()).doesNotContain("DATA");
        }
    }

    @Test
    void loginUsesThePasswordOfTheFileAndItsFailureMayPass() throws Exception {
        greenMail.setUser("genv@gpu.example.org", "genv", "s3cret");
        greenMail.getUserManager().setAuthRequired(true);
        var port = greenMail.getSmtp().getPort();
        var file = Files.writeString(folder.resolve("password"), "s3cret\n");
        assertThat(send(server(port, new SecretFile(file)))).isEqualTo(Reply.ACCEPTED);
        assertThat(greenMail.getReceivedMessages()).hasSize(2); // one for the copy

        var wrong = Files.writeString(folder.resolve("wrong"), "0ther");
        assertThat(failure(server(port, new SecretFile(wrong))).why())
                .contains("AUTH")
                .doesNotContain("0ther");
        var missing = failure(server(port, new SecretFile(folder.resolve("none"))));
        assertThat(missing.kind()).isEqualTo(ReplyKind.FAILED);
        assertThat(missing.why()).contains("No such file");
        greenMail.stop();
        assertThat(failure(server(config(Tls.NONE, port))).kind())
                .as("an unreachable server")
                .isEqualTo(ReplyKind.FAILED);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void requiredTlsChecksTheCertificateAndItsName(boolean implicit) throws Exception {
        try (var smtp = new ScriptedSmtp(Behaviour.ACCEPT, certificate.context(), implicit, null);
                var other = new ScriptedSmtp(Behaviour.ACCEPT, ofOtherHost.context(), implicit, null)) {
            var starttls = implicit ? StartTLSOptions.DISABLED : StartTLSOptions.REQUIRED;
            var right = MailServer.config("localhost", smtp.port(), Tls.REQUIRED)
                    .setSsl(implicit)
                    .setStarttls(starttls);
            var wrong = MailServer.config("localhost", other.port(), Tls.REQUIRED)
                    .setSsl(implicit)
                    .setStarttls(starttls);
            assertThat(failure(server(right)).kind())
                    .as("an unknown certificate")
                    .isEqualTo(ReplyKind.FAILED);
            assertThat(failure(server(wrong.setTrustOptions(ofOtherHost.trustOptions())))
                            .kind())
                    .as("a known certificate of another name")
                    .isEqualTo(ReplyKind.FAILED);
            assertThat(smtp.lines()).noneMatch(line -> line.startsWith("MAIL"));
            assertThat(other.lines()).noneMatch(line -> line.startsWith("MAIL"));
            assertThat(send(server(right.setTrustOptions(certificate.trustOptions()))))
                    .isEqualTo(Reply.ACCEPTED);
            assertThat(smtp.lines()).contains("MAIL FROM:<genv@gpu.example.org>", "RCPT TO:<raz@example.org>");
        }
    }

    @Test
    void opportunisticTlsAcceptsAnyCertificateAndNone() throws Exception {
        try (var secure = new ScriptedSmtp(Behaviour.ACCEPT, certificate.context());
                var plain = new ScriptedSmtp(Behaviour.ACCEPT, null)) {
            assertThat(send(server(config(Tls.OPPORTUNISTIC, secure.port())))).isEqualTo(Reply.ACCEPTED);
            assertThat(send(server(config(Tls.OPPORTUNISTIC, plain.port())))).isEqualTo(Reply.ACCEPTED);
            assertThat(secure.lines()).contains("STARTTLS", "DATA");
            assertThat(plain.lines()).contains("DATA").doesNotContain("STARTTLS");
        }
    }

    @Test
    void nothingIsSentWithoutRequiredTls() throws Exception {
        try (var smtp = new ScriptedSmtp(Behaviour.ACCEPT, null)) {
            failure(server(config(Tls.REQUIRED, smtp.port())));
            assertThat(smtp.lines()).noneMatch(line -> line.startsWith("MAIL"));
        }
    }

    /** An expired password must not lose the mails until somebody renews it. */
    @ParameterizedTest
    @CsvSource({"MAIL,530", "AUTH,530", "AUTH,534", "AUTH,535", "AUTH,538"})
    void refusalOfTheLoginIsNotPermanent(String command, int status) throws Exception {
        var password = new SecretFile(Files.writeString(folder.resolve("password"), "s3cret\n"));
        try (var smtp = ScriptedSmtp.refusing(command, status + " 5.7.0 not with this login")) {
            var failure = failure(server(smtp.port(), password));
            assertThat(failure.kind()).isEqualTo(ReplyKind.FAILED);
            assertThat(failure.why()).contains(status + " 5.7.0 not with this login");
        }
    }

    /** Otherwise each attempt would leave a connection. */
    @ParameterizedTest
    @EnumSource(names = {"HANG", "DRIP"})
    void connectionToAServerWithoutAnAnswerIsClosedAfterTheTimeLimit(Behaviour behaviour) throws Exception {
        try (var smtp = new ScriptedSmtp(behaviour, null)) {
            var server = server(config(Tls.NONE, smtp.port()), Optional.empty(), Duration.ofMillis(500));
            await("on a busy machine an attempt may end before it has connected")
                    .until(() -> {
                        assertThat(failure(server).kind()).isEqualTo(ReplyKind.FAILED);
                        return smtp.closedByClient() > 0;
                    });
        }
    }

    /** TLS begins with the connection only on the port for that, and only if TLS is used. */
    @ParameterizedTest
    @CsvSource({
        "465,REQUIRED,true,DISABLED,false",
        "465,OPPORTUNISTIC,true,DISABLED,true",
        "465,NONE,false,DISABLED,true",
        "587,REQUIRED,false,REQUIRED,false",
        "587,OPPORTUNISTIC,false,OPTIONAL,true"
    })
    void portAndSettingDecideHowTlsBegins(
            int port, Tls tls, boolean implicit, StartTLSOptions starttls, boolean trustsAll) {
        var server = config(tls, port);
        assertThat(server.isSsl()).isEqualTo(implicit);
        assertThat(server.getStarttls()).isEqualTo(starttls);
        assertThat(server.isTrustAll()).isEqualTo(trustsAll);
    }

    private static MailConfig config(Tls tls, int port) {
        return MailServer.config(LOOPBACK, port, tls);
    }

    private static MailServer server(MailConfig config) {
        return server(config, Optional.empty(), LONG);
    }

    private static MailServer server(int port, SecretFile password) {
        return server(config(Tls.NONE, port).setUsername("genv"), Optional.of(password), LONG);
    }

    private static MailServer server(MailConfig config, Optional<SecretFile> password, Duration timeout) {
        var copyTo = Optional.of("admin@example.org");
        var replyTo = Optional.of("help@example.org");
        return new MailServer(vertx, config, password, "genv@gpu.example.org", copyTo, replyTo, timeout);
    }

    private static Reply send(MailServer server) throws InterruptedException {
        return server.send(
                server.message("raz@example.org", "genv-enforcer: process 812", "Grüße\n.\n✓ done\n", "key"));
    }

    private static Reply failure(MailServer server) throws InterruptedException {
        var reply = send(server);
        assertThat(reply.kind()).isNotEqualTo(ReplyKind.ACCEPTED);
        return reply;
    }

    // The weekly mail, with a time that is not real. It begins on a Friday.
    private static final ZoneId ZONE = ZoneId.of("Europe/Berlin");
    private static final Duration WEEK = Duration.ofDays(7);
    private final FakeTime time = new FakeTime();
    private final List<ZonedDateTime> periods = new ArrayList<>();
    private DeliveryCursors cursors = new DeliveryCursors();
    private boolean isFailing;

    private WeeklyMail weekly;

    @Test
    void sendsTheSevenDaysBeforeMondayAtEightOnce() throws Exception {
        weekly.check();
        passTo("2026-11-23T07:59:59+01:00");
        weekly.check();
        assertThat(greenMail.getReceivedMessages()).isEmpty();

        passTo("2026-11-23T08:00:00+01:00");
        weekly.check();
        weekly.check();
        var mail = onlyMail();
        assertThat(mail.getAllRecipients()).extracting(String::valueOf).containsExactly("admin@example.org");
        assertThat(mail.getSubject()).isEqualTo("genv-enforcer: GPU hours from 16 Nov 2026 to 23 Nov 2026");
        assertThat(mail.getContent().toString()).contains("the report");
        assertThat(periods)
                .containsExactly(
                        ZonedDateTime.parse("2026-11-16T08:00:00+01:00[Europe/Berlin]"),
                        ZonedDateTime.parse("2026-11-23T08:00:00+01:00[Europe/Berlin]"));

        time.pass(WEEK);
        weekly.check();
        assertThat(greenMail.getReceivedMessages()).hasSize(2);
    }

    private MimeMessage onlyMail() {
        assertThat(greenMail.getReceivedMessages()).hasSize(1);
        return greenMail.getReceivedMessages()[0];
    }

    @Test
    void neitherARestartNorAClockThatIsSetBackRepeatsIt() throws Exception {
        weekly.check();
        passTo("2026-11-23T08:30:00+01:00");
        weekly.check();

        restart();
        weekly.check();
        time.setWallBack(Duration.ofHours(2));
        weekly.check();
        time.pass(Duration.ofHours(2));
        weekly.check();

        assertThat(greenMail.getReceivedMessages()).hasSize(1);
    }

    @Test
    void whatWasDueWhileTheServiceDidNotRunFollows() throws Exception {
        weekly.check();
        passTo("2026-12-09T12:00:00+01:00");
        restart();
        weekly.check();

        assertThat(greenMail.getReceivedMessages()).hasSize(1);
        assertThat(periods).endsWith(ZonedDateTime.parse("2026-12-07T08:00:00+01:00[Europe/Berlin]"));
    }

    @Test
    void wrongClockEndsTheReportsNotForEver() throws Exception {
        time.pass(Duration.ofDays(3650));
        weekly.check();
        time.setWallBack(Duration.ofDays(3650));
        weekly.check();
        time.pass(WEEK);
        weekly.check();

        assertThat(greenMail.getReceivedMessages()).hasSize(1);
    }

    @Test
    void failureIsTriedAgainLater() throws Exception {
        weekly.check();
        passTo("2026-11-23T08:00:00+01:00");
        isFailing = true;
        weekly.check();
        isFailing = false;
        weekly.check();
        assertThat(greenMail.getReceivedMessages()).as("not at once").isEmpty();
        assertThat(weekly.problem()).hasValue("the report cannot be written: the disk hangs");

        time.pass(Duration.ofMinutes(2));
        weekly.check();
        assertThat(greenMail.getReceivedMessages()).hasSize(1);
        assertThat(weekly.problem()).isEmpty();
    }

    @Test
    void refusedReportIsGivenUp() throws Exception {
        try (var smtp = ScriptedSmtp.refusing("RCPT", "550 no such user")) {
            weekly = weekly(smtp.port());
            weekly.check();
            passTo("2026-11-23T08:00:00+01:00");
            weekly.check();
            weekly.check();
            assertThat(weekly.problem().orElseThrow()).contains("550 no such user");
            assertThat(smtp.lines()).containsOnlyOnce("RCPT TO:<admin@example.org>");
        }
    }

    private void restart() {
        var saved = cursors.save();
        cursors = new DeliveryCursors();
        cursors.restore(saved);
        weekly = weekly(greenMail.getSmtp().getPort());
    }

    private void passTo(String instant) {
        time.passTo(
                Duration.between(FakeTime.START, ZonedDateTime.parse(instant).toInstant()));
    }

    private String text(ZonedDateTime from, ZonedDateTime to) throws IOException {
        if (isFailing) {
            throw new IOException("the disk hangs");
        }
        periods.addAll(List.of(from, to));
        return "the report";
    }

    private WeeklyMail weekly(int port) {
        var none = Optional.<String>empty();
        return new WeeklyMail(
                this::text,
                new MailServer(
                        vertx, config(Tls.NONE, port), Optional.empty(), "genv@gpu.example.org", none, none, LONG),
                "admin@example.org",
                cursors,
                ZONE,
                time.ticker(),
                () -> 0,
                Runnable::run);
    }
}
