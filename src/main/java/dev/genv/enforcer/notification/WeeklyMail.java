package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.notification.MailSender.MailServer;
import dev.genv.enforcer.notification.Sender.Limits;
import dev.genv.enforcer.notification.Sender.Reply;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAdjusters;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;

/**
 * Mails administrators a report of the seven days before each Monday, 08:00 in the zone of the service. The last one is remembered like the
 * position of a delivery, so a restart sends none again, and one that was due while the service did not run follows. Without a database file
 * the first one follows on the next Monday.
 */
public final class WeeklyMail {
    private static final Logger LOG = Logger.getLogger(WeeklyMail.class);
    private static final String NAME = "report";
    private static final LocalTime TIME = LocalTime.of(8, 0);
    private static final DateTimeFormatter DAY = DateTimeFormatter.ofPattern("d MMM uuuu", Locale.ENGLISH);
    private static final Limits LIMITS = Limits.ofUsers(Duration.ZERO, 1);

    private final Source source;
    private final MailServer server;
    private final String to;
    private final DeliveryCursors cursors;
    private final ZoneId zone;
    private final Ticker ticker;
    private final RandomGenerator random;
    private final Executor executor;
    private final AtomicBoolean isSending = new AtomicBoolean();
    /** When the next attempt may follow. */
    private volatile long pausedUntil;

    private int failures;
    private volatile Optional<String> problem = Optional.empty();

    /** Writes the report of a period. */
    @FunctionalInterface
    public interface Source {
        /** Returns the text; its failure is tried again. */
        String text(ZonedDateTime from, ZonedDateTime to) throws Exception;
    }

    /** @param executor what waits for the mail server, so that a cycle does not */
    public WeeklyMail(
            Source source,
            MailServer server,
            String to,
            DeliveryCursors cursors,
            ZoneId zone,
            Ticker ticker,
            RandomGenerator random,
            Executor executor) {
        this.source = source;
        this.server = server;
        this.to = to;
        this.cursors = cursors;
        this.zone = zone;
        this.ticker = ticker;
        this.random = random;
        this.executor = executor;
        pausedUntil = ticker.mark();
    }

    /** Why the last attempt failed; empty if it did not. */
    public Optional<String> problem() {
        return problem;
    }

    /** Begins to send a report that is due. Each cycle calls it. */
    public void check() {
        var due = due();
        var last = cursors.load(NAME);
        // A report of the future was sent before a wrong clock was corrected.
        if (last.isEmpty() || last.getAsLong() > due.plusWeeks(1).toInstant().toEpochMilli()) {
            remember(due);
        } else if (due.toInstant().toEpochMilli() > last.getAsLong()
                && ticker.mark() - pausedUntil >= 0
                && isSending.compareAndSet(false, true)) {
            executor.execute(() -> send(due));
        }
    }

    /** Returns when the last report was due. */
    private ZonedDateTime due() {
        var now = ticker.now().atZone(zone);
        var monday =
                now.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY)).with(TIME);
        return monday.isAfter(now) ? monday.minusWeeks(1) : monday;
    }

    private void send(ZonedDateTime due) {
        try {
            var reply = reply(due.minusWeeks(1), due);
            switch (reply.kind()) {
                case ACCEPTED -> remember(due);
                case FAILED -> {
                    failures++;
                    pausedUntil =
                            ticker.mark() + LIMITS.retryDelay(failures, random).toNanos();
                    problem = Optional.of(reply.why());
                }
                case NOBODY, REFUSED, GONE -> {
                    LOG.warnf("The weekly report to %s is given up: %s", to, reply.why());
                    remember(due);
                    problem = Optional.of(reply.why());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            isSending.set(false);
        }
    }

    private Reply reply(ZonedDateTime from, ZonedDateTime due) throws InterruptedException {
        var subject = "genv-enforcer: GPU hours from %s to %s".formatted(DAY.format(from), DAY.format(due));
        try {
            var text = source.text(from, due);
            return server.send(server.message(to, subject, text, due.toInstant().toString()));
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            return Reply.failed("the report cannot be written: " + Reply.escape(e.getMessage()));
        }
    }

    private void remember(ZonedDateTime due) {
        cursors.store(NAME, due.toInstant().toEpochMilli());
        failures = 0;
        problem = Optional.empty();
    }
}
