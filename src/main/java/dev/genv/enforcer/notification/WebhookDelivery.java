package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.DeliveryCursors.DeliveryCursor;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;

/**
 * Sends the events of violations to a receiver: in their order, one at a time, each until the receiver accepts it, has refused it three
 * times, or the event is a day old. The events wait in the log of events, so nothing else grows while the receiver does not answer.
 */
public final class WebhookDelivery extends Delivery {
    /** The name of this kind of delivery. */
    public static final String NAME = "webhook";

    private static final Logger LOG = Logger.getLogger(WebhookDelivery.class);
    private static final Duration SHORTEST_RETRY = Duration.ofSeconds(5);
    private static final Duration LONGEST_RETRY = Duration.ofHours(1);
    private static final Duration LONGEST_AGE = Duration.ofDays(1);
    private static final int MOST_REFUSALS = 3;

    private final WebhookSender sender;
    private final DeliveryCursor cursor;
    private final RetryDelay retryDelay;
    /** The failed attempts since the last accepted event. */
    private int failures;
    /** How often the receiver has refused the event after the position. */
    private int refusals;

    private Duration pause = Duration.ZERO;
    private long pausedAt;
    private boolean gone;

    /** Creates a delivery, whose cursor is the last event that the receiver accepted. */
    public WebhookDelivery(
            WebhookSender sender,
            DeliveryCursor cursor,
            Ticker ticker,
            RandomGenerator random,
            MeterRegistry registry) {
        super(NAME, ticker, registry);
        this.sender = sender;
        this.cursor = cursor;
        retryDelay = new RetryDelay(SHORTEST_RETRY, LONGEST_RETRY, random);
        pausedAt = ticker.mark();
    }

    /**
     * Begins after the event that the cursor names, or with the next one. The cursor is ahead of the log if the database was removed.
     * The position is stored at once, so that a restart before the first accepted event continues with the same event.
     */
    @Override
    void begin(EventLog log) {
        proceedTo(Math.min(cursor.load().orElse(log.latest()), log.latest()));
    }

    @Override
    Duration run(EventLog log) throws InterruptedException {
        var more = true;
        while (more && isReady()) {
            var events = next(log);
            for (var event : events) {
                if (!isReady()) {
                    break;
                }
                deliver(event);
            }
            more = !events.isEmpty();
        }
        showWaiting(log);
        return isReady() || gone ? IDLE : rest();
    }

    private boolean isReady() {
        return !gone && rest().isZero();
    }

    private Duration rest() {
        return rest(pause, ticker, pausedAt);
    }

    private void deliver(Event event) throws InterruptedException {
        var notice = Notice.of(event);
        if (notice.isEmpty()) {
            proceedTo(event.sequence());
        } else if (failures > 0 && isOld(event)) {
            statistics().countFailed("events are given up, because they are a day old");
            proceedTo(event.sequence());
        } else {
            deliver(notice.get());
        }
    }

    private void deliver(Notice notice) throws InterruptedException {
        var reply = send(notice);
        switch (reply.kind()) {
            case ACCEPTED -> {
                statistics().countSent();
                failures = 0;
                pause = Duration.ZERO;
                proceedTo(notice.sequence());
            }
            case GONE -> {
                gone = true;
                statistics().countEnd(reply.why() + "; a restart of the service tries again");
                LOG.errorf("The webhook: %s; none are sent until the service is restarted", reply.why());
            }
            case FAILED -> retry(reply);
            case REFUSED -> {
                refusals++;
                if (refusals < MOST_REFUSALS) {
                    retry(reply);
                } else {
                    giveUp(notice, reply);
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
            return new Reply(ReplyKind.REFUSED, reason(e));
        }
    }

    private void retry(Reply reply) {
        if (failures == 0) {
            LOG.warnf("An event was not sent to the webhook and is tried again: %s", reply.why());
        }
        statistics().countRetry(reply.why());
        postpone(reply.asked());
    }

    private void giveUp(Notice notice, Reply reply) {
        LOG.warnf("The event %s is not sent to the webhook: %s", WebhookBodies.id(notice), reply.why());
        statistics().countFailed(reply.why());
        postpone(reply.asked());
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

    @Override
    void proceedTo(long sequence) {
        super.proceedTo(sequence);
        refusals = 0;
        cursor.store(sequence);
    }

    private void showWaiting(EventLog log) {
        var next = log.after(position(), 1).events();
        statistics()
                .setWaiting(
                        log.latest() - position(),
                        next.isEmpty() ? null : next.getFirst().at());
    }
}
