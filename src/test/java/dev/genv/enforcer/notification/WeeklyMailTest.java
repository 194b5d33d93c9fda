package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;

import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.notification.MailSender.MailServer;
import dev.genv.enforcer.notification.MailSender.MailServer.Tls;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.vertx.core.Vertx;
import jakarta.mail.internet.MimeMessage;
import java.io.IOException;
import java.time.Duration;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** With a real SMTP server, and with a time that is not real. It begins on a Friday. */
class WeeklyMailTest {
    private static final ZoneId ZONE = ZoneId.of("Europe/Berlin");
    private static final Duration WEEK = Duration.ofDays(7);

    private static Vertx vertx;

    private final FakeTime time = new FakeTime();
    private final GreenMail greenMail =
            new GreenMail(new ServerSetup[] {new ServerSetup(0, "127.0.0.1", ServerSetup.PROTOCOL_SMTP)});
    private final List<ZonedDateTime> periods = new ArrayList<>();
    private DeliveryCursors cursors = new DeliveryCursors();
    private WeeklyMail weekly;
    private boolean isFailing;

    @BeforeAll
    static void open() {
        vertx = Vertx.vertx();
    }

    @AfterAll
    static void closeVertx() {
        vertx.close();
    }

    @BeforeEach
    void start() {
        greenMail.start();
        weekly = weekly(greenMail.getSmtp().getPort());
    }

    @AfterEach
    void stop() {
        greenMail.stop();
    }

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
        return new WeeklyMail(
                this::text,
                new MailServer(
                        vertx,
                        MailServer.config("127.0.0.1", port, Tls.NONE),
                        Optional.empty(),
                        "genv@gpu.example.org",
                        Optional.empty(),
                        Optional.empty(),
                        Duration.ofMinutes(3)),
                "admin@example.org",
                cursors,
                ZONE,
                time.ticker(),
                () -> 0,
                Runnable::run);
    }
}
