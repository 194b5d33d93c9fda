package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.notification.Delivery.DeliveryStatistics;
import dev.genv.enforcer.notification.Delivery.RetryDelay;
import dev.genv.enforcer.notification.MailSender.MailException;
import dev.genv.enforcer.notification.MailSender.OutgoingMail;
import dev.genv.enforcer.notification.Outbox.Batch;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jboss.logging.Logger;

/** Sends mails to users. A mail that the server does not accept is tried again for some hours, and does not delay the others. */
public final class MailDelivery implements Delivery {
    private static final Logger LOG = Logger.getLogger(MailDelivery.class);
    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(30);
    private static final Duration LONGEST_RETRY = Duration.ofMinutes(15);
    /** After this time the user does not need the mail any more. */
    private static final Duration LONGEST_AGE = Duration.ofHours(4);

    private static final int MOST_MAILS = 200;
    private static final Duration IDLE = Duration.ofHours(1);

    private final NoticeReader reader;
    private final Addresses addresses;
    private final MailText text;
    private final MailSender sender;
    private final Ticker ticker;
    private final RetryDelay retryDelay;
    private final Outbox<String> outbox;
    private final DeliveryStatistics statistics;
    private final List<Attempt> waiting = new ArrayList<>();

    /** How long notices are collected for one mail, and how many mails a user gets in an hour at most. */
    public record Limits(Duration collected, int perHour) {}

    /** A mail with the time of its next attempt. */
    private record Attempt(OutgoingMail mail, long createdAt, int failures, Duration delay, long delayedAt) {}

    public MailDelivery(
            NoticeReader reader,
            Addresses addresses,
            NoticeText text,
            MailSender sender,
            Limits limits,
            Ticker ticker,
            RandomGenerator random) {
        this.reader = reader;
        this.addresses = addresses;
        this.text = new MailText(text, limits.perHour());
        this.sender = sender;
        this.ticker = ticker;
        retryDelay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
        outbox = new Outbox<>(limits.collected(), limits.perHour(), ticker);
        statistics = new DeliveryStatistics(ticker);
    }

    @Override
    public String name() {
        return "mail";
    }

    @Override
    public void begin(EventLog log) {
        reader.begin(log);
    }

    @Override
    public Duration run(EventLog log) throws InterruptedException {
        var more = reader.read(log, this::collect, statistics::countDropped);
        outbox.takeDue(this::enqueue);
        showWaiting();
        var due = waiting.stream().filter(attempt -> untilDue(attempt).isZero()).findFirst();
        if (due.isPresent()) {
            waiting.remove(due.get());
            send(due.get());
            showWaiting();
            return Duration.ZERO; // new events are read between two mails
        }
        return Stream.concat(
                        Stream.of(outbox.untilDue(), more).flatMap(Optional::stream),
                        waiting.stream().map(this::untilDue))
                .min(Comparator.naturalOrder())
                .orElse(IDLE);
    }

    private void collect(PersonalNotice personal) {
        addresses
                .of(personal)
                .filter(address -> !outbox.add(address, personal))
                .ifPresent(_ -> statistics.countDropped(1));
    }

    private void enqueue(Outbox.Batch<String> batch) {
        if (waiting.size() >= MOST_MAILS) {
            statistics.countDropped(1);
        } else {
            waiting.add(new Attempt(text.of(batch), ticker.mark(), 0, Duration.ZERO, ticker.mark()));
        }
    }

    private void send(Attempt attempt) throws InterruptedException {
        try {
            sender.send(attempt.mail());
            statistics.countSent();
        } catch (MailException e) {
            var isOld = ticker.since(attempt.createdAt()).compareTo(LONGEST_AGE) >= 0;
            if (e.isPermanent() || isOld) {
                statistics.countFailed(e.reason());
                LOG.warnf("A mail to %s is given up: %s", attempt.mail().to(), e.reason());
            } else {
                postpone(attempt, e);
            }
        }
    }

    private void postpone(Attempt attempt, MailException why) {
        statistics.countRetry(why.reason());
        var failures = attempt.failures() + 1;
        var delay = retryDelay.after(failures);
        if (failures == 1) {
            LOG.warnf(
                    "A mail to %s was not sent and is tried again: %s",
                    attempt.mail().to(), why.reason());
        }
        waiting.add(new Attempt(attempt.mail(), attempt.createdAt(), failures, delay, ticker.mark()));
    }

    private Duration untilDue(Attempt attempt) {
        return Delivery.rest(attempt.delay(), ticker, attempt.delayedAt());
    }

    private void showWaiting() {
        var oldest = Stream.concat(
                        outbox.oldest().stream(),
                        waiting.stream().map(attempt -> attempt.mail().oldest()))
                .min(Comparator.naturalOrder());
        statistics.setWaiting(outbox.size() + waiting.size(), oldest.orElse(null));
    }

    @Override
    public DeliveryStatistics statistics() {
        return statistics;
    }

    /** The text of a mail, of which a user gets so many in an hour at most. */
    record MailText(NoticeText notices, int perHour) {
        private static final String END = "\n";

        OutgoingMail of(Batch<String> batch) {
            var paragraphs = batch.notices().stream().map(this::paragraph).collect(Collectors.joining(END + END));
            var more = batch.omitted() == 0 ? "" : "%n%nThere are %d more.".formatted(batch.omitted());
            var text = """
                %s%s

                --
                This mail is from genv-enforcer, which enforces the GPU allocations that genv records.
                You get it because these processes or environments have your user id. You get at most %d such mails in an hour.
                """.formatted(paragraphs, more, perHour);
            return new OutgoingMail(
                    batch.person(),
                    subject(batch.notices()),
                    text,
                    UUID.randomUUID().toString(),
                    batch.notices().getFirst().notice().at());
        }

        /** The subject has no text that users chose. */
        private static String subject(List<PersonalNotice> notices) {
            if (notices.size() > 1) {
                return "genv-enforcer: %d messages about your GPU processes".formatted(notices.size());
            }
            return "genv-enforcer: " + NoticeText.title(notices.getFirst());
        }

        private String paragraph(PersonalNotice personal) {
            return "%s%n%s".formatted(NoticeText.time(personal.notice().at()), notices.paragraph(personal));
        }
    }
}
