package dev.genv.enforcer.notification;

import static org.assertj.core.api.Assertions.assertThat;

import com.icegreen.greenmail.util.GreenMail;
import com.icegreen.greenmail.util.ServerSetup;
import dev.genv.enforcer.enforcement.record.DeliveryCursors;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.notification.MailDelivery.MailSender;
import dev.genv.enforcer.notification.MailDelivery.MailSender.Tls;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
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
class ReportDeliveryTest {
    private static final ZoneId ZONE = ZoneId.of("Europe/Berlin");
    private static final Duration WEEK = Duration.ofDays(7);

    private static Vertx vertx;

    private final FakeTime time = new FakeTime();
    private final EventLog log = new EventLog();
    private final GreenMail greenMail =
            new GreenMail(new ServerSetup[] {new ServerSetup(0, "127.0.0.1", ServerSetup.PROTOCOL_SMTP)});
    private final List<ZonedDateTime> periods = new ArrayList<>();
    private DeliveryCursors cursors = new DeliveryCursors();
    private ReportDelivery delivery;
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
        delivery = delivery(greenMail.getSmtp().getPort());
    }

    @AfterEach
    void stop() {
        greenMail.stop();
    }

    @Test
    void sendsTheSevenDaysBeforeMondayAtEightOnce() throws Exception {
        run();
        passTo("2026-11-23T07:59:59+01:00");
        run();
        assertThat(greenMail.getReceivedMessages()).isEmpty();

        passTo("2026-11-23T08:00:00+01:00");
        run();
        run();
        assertThat(greenMail.getReceivedMessages()).hasSize(1);
        var mail = greenMail.getReceivedMessages()[0];
        assertThat(mail.getAllRecipients()).extracting(String::valueOf).containsExactly("admin@example.org");
        assertThat(mail.getSubject()).isEqualTo("genv-enforcer: GPU hours from 16 Nov 2026 to 23 Nov 2026");
        assertThat(mail.getContent().toString()).contains("the report");
        assertThat(periods)
                .containsExactly(
                        ZonedDateTime.parse("2026-11-16T08:00:00+01:00[Europe/Berlin]"),
                        ZonedDateTime.parse("2026-11-23T08:00:00+01:00[Europe/Berlin]"));

        time.pass(WEEK);
        run();
        assertThat(greenMail.getReceivedMessages()).hasSize(2);
    }

    @Test
    void neitherARestartNorAClockThatIsSetBackRepeatsIt() throws Exception {
        run();
        passTo("2026-11-23T08:30:00+01:00");
        run();

        restart();
        run();
        time.setWallBack(Duration.ofHours(2));
        run();
        time.pass(Duration.ofHours(2));
        run();

        assertThat(greenMail.getReceivedMessages()).hasSize(1);
    }

    @Test
    void whatWasDueWhileTheServiceDidNotRunFollows() throws Exception {
        run();
        passTo("2026-12-09T12:00:00+01:00");
        restart();
        run();

        assertThat(greenMail.getReceivedMessages()).hasSize(1);
        assertThat(periods).endsWith(ZonedDateTime.parse("2026-12-07T08:00:00+01:00[Europe/Berlin]"));
    }

    @Test
    void wrongClockEndsTheReportsNotForEver() throws Exception {
        time.pass(Duration.ofDays(3650));
        run();
        time.setWallBack(Duration.ofDays(3650));
        run();
        time.pass(WEEK);
        run();

        assertThat(greenMail.getReceivedMessages()).hasSize(1);
    }

    @Test
    void failureIsTriedAgainLater() throws Exception {
        run();
        passTo("2026-11-23T08:00:00+01:00");
        isFailing = true;
        run();
        isFailing = false;
        run();
        assertThat(greenMail.getReceivedMessages()).as("not at once").isEmpty();
        assertThat(delivery.waiting()).isEqualTo(1);

        time.pass(Duration.ofMinutes(2));
        run();
        assertThat(greenMail.getReceivedMessages()).hasSize(1);
        assertThat(delivery.retried.count()).isEqualTo(1);
        assertThat(delivery.waiting()).isZero();
    }

    @Test
    void refusedReportIsGivenUp() throws Exception {
        try (var smtp = ScriptedSmtp.refusing("RCPT", "550 no such user")) {
            delivery = delivery(smtp.port());
            run();
            passTo("2026-11-23T08:00:00+01:00");
            run();
            run();
            assertThat(delivery.failed.count()).isEqualTo(1);
            assertThat(delivery.waiting()).isZero();
        }
    }

    private void run() throws InterruptedException {
        delivery.run(log);
    }

    private void restart() {
        var saved = cursors.save();
        cursors = new DeliveryCursors();
        cursors.restore(saved);
        delivery = delivery(greenMail.getSmtp().getPort());
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

    private ReportDelivery delivery(int port) {
        return new ReportDelivery(
                this::text,
                new MailSender(
                        vertx,
                        MailSender.server("127.0.0.1", port, Tls.NONE),
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
                new SimpleMeterRegistry());
    }
}
