package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.DeliveryCursors.DeliveryCursor;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.EventLog.EventPage;
import dev.genv.enforcer.notification.Delivery.DeliveryStatistics;
import dev.genv.enforcer.notification.Delivery.RetryDelay;
import dev.genv.enforcer.notification.WebhookSender.Reply;
import java.time.Duration;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;

/**
 * Sends the events of violations to a receiver: in their order, one at a time, each until the receiver accepts it, has refused it three
 * times, or the event is a day old. The events wait in the log of events, so nothing else grows while the receiver does not answer.
 */
public final class WebhookDelivery implements Delivery {
    /** The name of this kind of delivery. */
    public static final String NAME = "webhook";

    private static final Logger LOG = Logger.getLogger(WebhookDelivery.class);
    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(5);
    private static final Duration LONGEST_RETRY = Duration.ofHours(1);
    private static final Duration LONGEST_AGE = Duration.ofDays(1);
    private static final Duration IDLE = Duration.ofHours(1);
    private static final int PAGE = 100;
    private static final int MOST_REFUSALS = 3;
    private static final String GONE = "the receiver wants no more events (status 410)";

    private final WebhookSender sender;
    private final DeliveryCursor cursor;
    private final Ticker ticker;
    private final RetryDelay retryDelay;
    private final DeliveryStatistics statistics;
    private long position;
    /** The failed attempts since the last accepted event. */
    private int failures;
    /** How often the receiver has refused the event after the position. */
    private int refusals;

    private Duration pause = Duration.ZERO;
    private long pausedAt;
    private boolean gone;

    /** Creates a delivery, whose cursor is the last event that the receiver accepted. */
    public WebhookDelivery(WebhookSender sender, DeliveryCursor cursor, Ticker ticker, RandomGenerator random) {
        this.sender = sender;
        this.cursor = cursor;
        this.ticker = ticker;
        retryDelay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
        statistics = new DeliveryStatistics(ticker);
        pausedAt = ticker.mark();
    }

    /**
     * Begins after the event that the cursor names, or with the next one. The cursor is ahead of the log if the database was removed.
     * The position is stored at once, so that a restart before the first accepted event continues with the same event.
     */
    @Override
    public void begin(EventLog log) {
        proceedTo(Math.min(cursor.load().orElse(log.latest()), log.latest()));
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Duration run(EventLog log) throws InterruptedException {
        var more = true;
        while (more && isReady()) {
            var page = log.after(position, PAGE);
            if (page.hasGap()) {
                skipLost(page, log);
            }
            for (var event : page.events()) {
                if (!isReady()) {
                    break;
                }
                deliver(event);
            }
            more = !page.events().isEmpty();
        }
        showWaiting(log);
        return isReady() || gone ? IDLE : rest();
    }

    private boolean isReady() {
        return !gone && rest().isZero();
    }

    private Duration rest() {
        return Delivery.rest(pause, ticker, pausedAt);
    }

    private void deliver(Event event) throws InterruptedException {
        var notice = Notice.of(event);
        if (notice.isEmpty()) {
            proceedTo(event.sequence());
        } else if (failures > 0 && isOld(event)) {
            statistics.countFailed("events are given up, because they are a day old");
            proceedTo(event.sequence());
        } else {
            deliver(notice.get());
        }
    }

    private void deliver(Notice notice) throws InterruptedException {
        switch (send(notice)) {
            case Reply.Accepted() -> {
                statistics.countSent();
                failures = 0;
                pause = Duration.ZERO;
                proceedTo(notice.sequence());
            }
            case Reply.Gone() -> {
                gone = true;
                statistics.countEnd(GONE + "; a restart of the service tries again");
                LOG.errorf("The webhook: %s; none are sent until the service is restarted", GONE);
            }
            case Reply.Failed(var why, var asked) -> retry(why, asked);
            case Reply.Refused(var why, var asked) -> {
                refusals++;
                if (refusals < MOST_REFUSALS) {
                    retry(why, asked);
                } else {
                    giveUp(notice, why, asked);
                }
            }
        }
    }

    /** An error of the service counts as a refusal, so after three attempts the later events are sent. */
    private Reply send(Notice notice) throws InterruptedException {
        try {
            return sender.send(notice);
        } catch (RuntimeException e) {
            LOG.errorf(e, "The event %s could not be sent to the webhook", WebhookBodies.id(notice));
            return new Reply.Refused(DeliveryStatistics.reason(e), Optional.empty());
        }
    }

    private void retry(String why, Optional<Duration> asked) {
        if (failures == 0) {
            LOG.warnf("An event was not sent to the webhook and is tried again: %s", why);
        }
        statistics.countRetry(why);
        postpone(asked);
    }

    private void giveUp(Notice notice, String why, Optional<Duration> asked) {
        LOG.warnf("The event %s is not sent to the webhook: %s", WebhookBodies.id(notice), why);
        statistics.countFailed(why);
        postpone(asked);
        proceedTo(notice.sequence());
    }

    /** The pauses grow also over events that are given up, because a receiver may refuse all of them. */
    private void postpone(Optional<Duration> asked) {
        failures++;
        pause = asked.filter(wait -> wait.compareTo(SHORTEST_RETRY) > 0).orElseGet(() -> retryDelay.after(failures));
        pausedAt = ticker.mark();
    }

    private boolean isOld(Event event) {
        return Duration.between(event.at(), ticker.now()).compareTo(LONGEST_AGE) >= 0;
    }

    private void skipLost(EventPage page, EventLog log) {
        var last = page.events().isEmpty()
                ? log.latest()
                : page.events().getFirst().sequence() - 1;
        statistics.countDropped(last - position);
        proceedTo(last);
    }

    private void proceedTo(long sequence) {
        position = sequence;
        refusals = 0;
        cursor.store(sequence);
    }

    private void showWaiting(EventLog log) {
        var next = log.after(position, 1).events();
        statistics.setWaiting(
                log.latest() - position, next.isEmpty() ? null : next.getFirst().at());
    }

    @Override
    public DeliveryStatistics statistics() {
        return statistics;
    }
}
