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
import dev.genv.enforcer.notification.MailSender.MailServer;
import dev.genv.enforcer.notification.MailSender.MailServer.Tls;
import dev.genv.enforcer.notification.ScriptedSmtp.Behaviour;
import dev.genv.enforcer.notification.Sender.Limits;
import dev.genv.enforcer.notification.Sender.Message;
import dev.genv.enforcer.notification.Sender.Reply;
import dev.genv.enforcer.notification.Sender.ReplyKind;
import dev.genv.enforcer.testsupport.TestCertificate;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import io.vertx.core.Vertx;
import io.vertx.ext.mail.MailConfig;
import io.vertx.ext.mail.StartTLSOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
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

/** With a real SMTP server and with servers that misbehave. */
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
        assertThat(sender.recipients(notices.getFirst())).containsOnlyKeys("raz@example.org");
        assertThat(sender.recipients(acted(1, 7))).isEmpty();

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
        assertThat(mails[0].getSubject()).isEqualTo("genv-enforcer: 5 processes: the service acted");
        assertThat(mails[0].getHeader("References", null).replaceAll("\\s+", " "))
                .startsWith("<raz-1@gpu.example.org> <raz-2@gpu.example.org>");
        assertThat(mails[0].getContent().toString())
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
        try (var smtp = new ScriptedSmtp(Behaviour.ACCEPT, certificate.context(), implicit);
                var other = new ScriptedSmtp(Behaviour.ACCEPT, ofOtherHost.context(), implicit)) {
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
}
