package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.notification.MailSender.OutgoingMail;
import dev.genv.enforcer.notification.PersonalDelivery.Outbox.Batch;
import io.micrometer.core.instrument.MeterRegistry;
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
public final class MailDelivery extends PersonalDelivery<String> {
    private static final Logger LOG = Logger.getLogger(MailDelivery.class);
    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(30);
    private static final Duration LONGEST_RETRY = Duration.ofMinutes(15);
    /** After this time the user does not need the mail any more. */
    private static final Duration LONGEST_AGE = Duration.ofHours(4);

    private static final int MOST_MAILS = 200;

    private final Addresses addresses;
    private final MailSender sender;
    private final int perHour;
    private final RetryDelay retryDelay;
    private final List<Attempt> waiting = new ArrayList<>();

    /** A mail with the time of its next attempt. */
    private record Attempt(OutgoingMail mail, long createdAt, int failures, Duration delay, long delayedAt) {}

    public MailDelivery(
            MessageSource source,
            Addresses addresses,
            MailSender sender,
            Limits limits,
            Ticker ticker,
            RandomGenerator random,
            MeterRegistry registry) {
        super("mail", source, limits, ticker, registry);
        this.addresses = addresses;
        this.sender = sender;
        perHour = limits.perHour();
        retryDelay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
    }

    @Override
    Optional<String> person(PersonalNotice personal) {
        return addresses.of(personal);
    }

    @Override
    Optional<Duration> deliver() throws InterruptedException {
        outbox.takeDue(this::enqueue);
        showWaiting();
        var due = waiting.stream().filter(attempt -> untilDue(attempt).isZero()).findFirst();
        if (due.isPresent()) {
            waiting.remove(due.get());
            send(due.get());
            return Optional.of(Duration.ZERO); // new events are read between two mails
        }
        return waiting.stream().map(this::untilDue).min(Comparator.naturalOrder());
    }

    private void enqueue(Batch<String> batch) {
        if (waiting.size() >= MOST_MAILS) {
            statistics().dropped.increment();
        } else {
            waiting.add(new Attempt(mail(batch), ticker.mark(), 0, Duration.ZERO, ticker.mark()));
        }
    }

    private void send(Attempt attempt) throws InterruptedException {
        var reply = sender.send(attempt.mail());
        var isOld = ticker.since(attempt.createdAt()).compareTo(LONGEST_AGE) >= 0;
        if (reply.kind() == ReplyKind.ACCEPTED) {
            statistics().countSent();
        } else if (reply.kind() == ReplyKind.REFUSED || isOld) {
            statistics().countFailed(reply.why());
            LOG.warnf("A mail to %s is given up: %s", attempt.mail().to(), reply.why());
        } else {
            postpone(attempt, reply.why());
        }
    }

    private void postpone(Attempt attempt, String why) {
        statistics().countRetry(why);
        var failures = attempt.failures() + 1;
        if (failures == 1) {
            LOG.warnf(
                    "A mail to %s was not sent and is tried again: %s",
                    attempt.mail().to(), why);
        }
        var delay = retryDelay.after(failures);
        waiting.add(new Attempt(attempt.mail(), attempt.createdAt(), failures, delay, ticker.mark()));
    }

    private Duration untilDue(Attempt attempt) {
        return rest(attempt.delay(), ticker, attempt.delayedAt());
    }

    @Override
    void showWaiting() {
        var oldest = Stream.concat(
                        outbox.oldest().stream(),
                        waiting.stream().map(attempt -> attempt.mail().oldest()))
                .min(Comparator.naturalOrder());
        statistics().setWaiting(outbox.size() + waiting.size(), oldest.orElse(null));
    }

    private OutgoingMail mail(Batch<String> batch) {
        var paragraphs = batch.notices().stream().map(this::paragraph).collect(Collectors.joining("\n\n"));
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
        return "%s%n%s"
                .formatted(
                        NoticeText.time(personal.notice().at()), source.text().paragraph(personal));
    }
}
