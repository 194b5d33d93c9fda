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
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.notification.Delivery.Reply;
import dev.genv.enforcer.notification.Delivery.ReplyKind;
import dev.genv.enforcer.notification.MailDelivery.MailSender;
import dev.genv.enforcer.notification.MailDelivery.MailSender.Tls;
import dev.genv.enforcer.notification.PersonalDelivery.Limits;
import dev.genv.enforcer.notification.PersonalDelivery.MessageSource;
import dev.genv.enforcer.notification.ScriptedSmtp.Behaviour;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.net.JksOptions;
import io.vertx.ext.mail.MailConfig;
import io.vertx.ext.mail.MailMessage;
import io.vertx.ext.mail.StartTLSOptions;
import jakarta.mail.Message;
import jakarta.mail.MessagingException;
import jakarta.mail.internet.MimeMessage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
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

/** With a real SMTP server and with servers that misbehave, and with a time that is not real. */
class MailDeliveryTest {
    private static final String LOOPBACK = "127.0.0.1";
    private static final Duration COLLECTED = Duration.ofSeconds(10);
    private static final Duration LONG = Duration.ofMinutes(3);
    private static final RandomGenerator NO_JITTER = () -> 0;

    @TempDir
    static Path folder;

    private static Vertx vertx;
    private static TestCertificate certificate;
    private static TestCertificate ofOtherHost;

    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final UserDirectory users = new UserDirectory();
    private final GreenMail greenMail =
            new GreenMail(new ServerSetup[] {new ServerSetup(0, LOOPBACK, ServerSetup.PROTOCOL_SMTP)});

    @BeforeAll
    static void open() throws IOException, InterruptedException {
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
        assertThat(mail.getSubject()).isEqualTo("genv-enforcer: 5 processes: the service acted");
        assertThat(mail.getReplyTo()).extracting(String::valueOf).containsExactly("help@example.org");
        assertThat(mail.getHeader("References", null).replaceAll("\\s+", " "))
                .startsWith("<raz-1@gpu.example.org> <raz-2@gpu.example.org>");
        assertThat(mail.getContent().toString())
                .contains("2026-11-20 09:22:28 UTC")
                .containsOnlyOnce("The service sent SIGTERM to your processes 1 (python, started ")
                .contains("), 5 (python, started ")
                .doesNotContain("6 (python")
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
    void refusedMailIsTriedAgainLaterUntilItIsGivenUpAndTheThirdFailureIsAProblem() throws Exception {
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
            for (var i = 0; i < 30; i++) {
                time.pass(Duration.ofMinutes(15));
                runAll(delivery);
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
                new MessageSource(users, NoticeFixture.texts(users), false),
                new Addresses(Optional.of("{user}@example.org"), Optional.empty(), users),
                new MailSender(
                        vertx,
                        server,
                        Optional.empty(),
                        "genv@gpu.example.org",
                        Optional.empty(),
                        Optional.of("help@example.org"),
                        LONG),
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

    @Test
    void realServerGetsTextAndHeaders() throws Exception {
        assertThat(send(sender(server(Tls.NONE, greenMail.getSmtp().getPort()))))
                .isEqualTo(Reply.ACCEPTED);
        var mail = onlyMail();
        assertThat(mail.getFrom()).extracting(Object::toString).containsExactly("genv@gpu.example.org");
        assertThat(mail.getRecipients(Message.RecipientType.TO))
                .extracting(Object::toString)
                .containsExactly("raz@example.org");
        assertThat(mail.getRecipients(Message.RecipientType.CC))
                .extracting(Object::toString)
                .containsExactly("admin@example.org");
        assertThat(mail.getSubject()).isEqualTo("genv-enforcer: process 812");
        assertThat(mail.getContent().toString().replace("\r\n", "\n"))
                .isEqualToIgnoringWhitespace("Grüße\n.\n✓ done\n");
        assertThat(mail.getContentType()).isEqualToIgnoringCase("text/plain; charset=utf-8");
        assertThat(mail.getHeader("Message-ID"))
                .singleElement()
                .asString()
                .matches("<[0-9a-f-]{36}@gpu\\.example\\.org>");
        assertThat(mail.getHeader("Auto-Submitted")).containsExactly("auto-generated");
        assertThat(mail.getHeader("List-Id")).containsExactly("<genv-enforcer.gpu.example.org>");
        assertThat(mail.getSentDate()).isNotNull();
    }

    /** A receiver can recognize a mail that it gets twice. */
    @Test
    void mailIsTheSameForEachAttempt() throws Exception {
        var sender = sender(server(Tls.NONE, greenMail.getSmtp().getPort()));
        var mail = mail(sender);
        sender.send(mail);
        sender.send(mail);
        assertThat(greenMail.getReceivedMessages()).as("two copies").hasSize(4).allSatisfy(each -> {
            assertThat(each.getHeader("Message-ID"))
                    .containsExactly(mail.getHeaders().get("Message-ID"));
            assertThat(each.getHeader("List-Id")).hasSize(1);
        });
    }

    @Test
    void loginUsesThePasswordOfTheFile() throws Exception {
        greenMail.setUser("genv@gpu.example.org", "genv", "s3cret");
        greenMail.getUserManager().setAuthRequired(true);
        var port = greenMail.getSmtp().getPort();
        var file = Files.writeString(folder.resolve("password"), "s3cret\n");
        assertThat(send(sender(port, new SecretFile(file)))).isEqualTo(Reply.ACCEPTED);
        assertThat(greenMail.getReceivedMessages()).hasSize(2); // one for the copy
        var wrong = Files.writeString(folder.resolve("wrong"), "0ther");
        assertThat(failure(sender(port, new SecretFile(wrong))).why())
                .contains("AUTH")
                .doesNotContain("0ther");
    }

    @Test
    void missingPasswordIsAFailureThatMayPass() throws InterruptedException {
        var failure = failure(sender(1, new SecretFile(folder.resolve("none"))));
        assertThat(failure.kind()).isEqualTo(ReplyKind.FAILED);
        assertThat(failure.why()).contains("No such file");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void requiredTlsChecksTheCertificateAndItsName(boolean implicit) throws Exception {
        try (var smtp = new ScriptedSmtp(Behaviour.ACCEPT, certificate.server(), implicit);
                var other = new ScriptedSmtp(Behaviour.ACCEPT, ofOtherHost.server(), implicit)) {
            var starttls = implicit ? StartTLSOptions.DISABLED : StartTLSOptions.REQUIRED;
            var right = MailSender.server("localhost", smtp.port(), Tls.REQUIRED)
                    .setSsl(implicit)
                    .setStarttls(starttls);
            var wrong = MailSender.server("localhost", other.port(), Tls.REQUIRED)
                    .setSsl(implicit)
                    .setStarttls(starttls);
            assertThat(failure(sender(right)).kind())
                    .as("an unknown certificate")
                    .isEqualTo(ReplyKind.FAILED);
            assertThat(failure(sender(wrong.setTrustOptions(ofOtherHost.trust())))
                            .kind())
                    .as("a known certificate of another name")
                    .isEqualTo(ReplyKind.FAILED);
            assertThat(smtp.lines()).noneMatch(line -> line.startsWith("MAIL"));
            assertThat(other.lines()).noneMatch(line -> line.startsWith("MAIL"));
            assertThat(send(sender(right.setTrustOptions(certificate.trust())))).isEqualTo(Reply.ACCEPTED);
            assertThat(smtp.lines()).contains("MAIL FROM:<genv@gpu.example.org>", "RCPT TO:<raz@example.org>");
        }
    }

    @Test
    void opportunisticTlsAcceptsAnyCertificateAndNone() throws Exception {
        try (var secure = new ScriptedSmtp(Behaviour.ACCEPT, certificate.server());
                var plain = new ScriptedSmtp(Behaviour.ACCEPT, null)) {
            assertThat(send(sender(server(Tls.OPPORTUNISTIC, secure.port())))).isEqualTo(Reply.ACCEPTED);
            assertThat(send(sender(server(Tls.OPPORTUNISTIC, plain.port())))).isEqualTo(Reply.ACCEPTED);
            assertThat(secure.lines()).contains("STARTTLS", "DATA");
            assertThat(plain.lines()).contains("DATA").doesNotContain("STARTTLS");
        }
    }

    @Test
    void nothingIsSentWithoutRequiredTls() throws Exception {
        try (var smtp = new ScriptedSmtp(Behaviour.ACCEPT, null)) {
            failure(sender(server(Tls.REQUIRED, smtp.port())));
            assertThat(smtp.lines()).noneMatch(line -> line.startsWith("MAIL"));
        }
    }

    /** An expired password must not lose the mails until somebody renews it. */
    @ParameterizedTest
    @CsvSource({"MAIL,530", "AUTH,530", "AUTH,534", "AUTH,535", "AUTH,538"})
    void refusalOfTheLoginIsNotPermanent(String command, int status) throws Exception {
        var password = new SecretFile(Files.writeString(folder.resolve("password"), "s3cret\n"));
        try (var smtp = ScriptedSmtp.refusing(command, status + " 5.7.0 not with this login")) {
            var failure = failure(sender(smtp.port(), password));
            assertThat(failure.kind()).isEqualTo(ReplyKind.FAILED);
            assertThat(failure.why()).contains(status + " 5.7.0 not with this login");
        }
    }

    @Test
    void unreachableServerIsAFailureThatMayPass() throws Exception {
        int port;
        try (var closed = new ScriptedSmtp(Behaviour.ACCEPT, null)) {
            port = closed.port();
        }
        assertThat(failure(sender(server(Tls.NONE, port))).kind()).isEqualTo(ReplyKind.FAILED);
    }

    /** Otherwise each attempt would leave a connection. */
    @ParameterizedTest
    @EnumSource(names = {"HANG", "DRIP"})
    void connectionToAServerWithoutAnAnswerIsClosedAfterTheTimeLimit(Behaviour behaviour) throws Exception {
        try (var smtp = new ScriptedSmtp(behaviour, null)) {
            var sender = sender(server(Tls.NONE, smtp.port()), Optional.empty(), Duration.ofMillis(500));
            await("on a busy machine an attempt may end before it has connected")
                    .until(() -> {
                        assertThat(failure(sender).kind()).isEqualTo(ReplyKind.FAILED);
                        return smtp.closedByClient() > 0;
                    });
        }
    }

    private MimeMessage onlyMail() {
        var all = greenMail.getReceivedMessages();
        assertThat(all).as("to the user, and a copy").hasSize(2);
        return all[0];
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
        var server = server(tls, port);
        assertThat(server.isSsl()).isEqualTo(implicit);
        assertThat(server.getStarttls()).isEqualTo(starttls);
        assertThat(server.isTrustAll()).isEqualTo(trustsAll);
    }

    private static MailConfig server(Tls tls, int port) {
        return MailSender.server(LOOPBACK, port, tls);
    }

    private static MailSender sender(MailConfig server) {
        return sender(server, Optional.empty(), LONG);
    }

    private static MailSender sender(int port, SecretFile password) {
        return sender(server(Tls.NONE, port).setUsername("genv"), Optional.of(password), LONG);
    }

    private static MailSender sender(MailConfig server, Optional<SecretFile> password, Duration timeout) {
        var copyTo = Optional.of("admin@example.org");
        return new MailSender(vertx, server, password, "genv@gpu.example.org", copyTo, Optional.empty(), timeout);
    }

    private static Reply send(MailSender sender) throws InterruptedException {
        return sender.send(mail(sender));
    }

    private static MailMessage mail(MailSender sender) {
        return sender.message("raz@example.org", "genv-enforcer: process 812", "Grüße\n.\n✓ done\n");
    }

    private static Reply failure(MailSender sender) throws InterruptedException {
        var reply = send(sender);
        assertThat(reply.kind()).isNotEqualTo(ReplyKind.ACCEPTED);
        return reply;
    }

    /**
     * A certificate that nobody has signed.
     *
     * @param store a key store with it
     */
    private record TestCertificate(Path store) {
        static final String PASSWORD = "changeit";

        static TestCertificate of(String host, Path folder) throws IOException, InterruptedException {
            var store = folder.resolve(host + ".p12");
            var command = List.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-genkeypair",
                    "-keyalg",
                    "EC",
                    "-dname",
                    "CN=test",
                    "-ext",
                    "SAN=dns:" + host,
                    "-alias",
                    "server",
                    "-storetype",
                    "PKCS12",
                    "-storepass",
                    PASSWORD,
                    "-keystore",
                    store.toString());
            var exitCode = new ProcessBuilder(command).inheritIO().start().waitFor();
            if (exitCode != 0) {
                throw new IOException("keytool ended with " + exitCode);
            }
            return new TestCertificate(store);
        }

        /** Options of a client that trusts it. */
        JksOptions trust() {
            return new JksOptions().setPath(store.toString()).setPassword(PASSWORD);
        }

        SSLContext server() throws IOException, GeneralSecurityException {
            var keys = KeyStore.getInstance("PKCS12");
            try (var in = Files.newInputStream(store)) {
                keys.load(in, PASSWORD.toCharArray());
            }
            var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            factory.init(keys, PASSWORD.toCharArray());
            var context = SSLContext.getInstance("TLS");
            context.init(factory.getKeyManagers(), null, null);
            return context;
        }
    }
}
