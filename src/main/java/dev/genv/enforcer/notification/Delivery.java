package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.Event;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.EventLog.EventSubscription;
import dev.genv.enforcer.model.SafeText;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Future;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/** One kind of delivery, with its own thread. It reads the events at its own speed, so a cycle never waits for it. */
public abstract class Delivery {
    private static final Logger LOG = Logger.getLogger(Delivery.class);
    /** The longest time until the next run if nothing waits. */
    static final Duration IDLE = Duration.ofHours(1);

    /** One failed attempt is no problem yet, because a receiver may restart. */
    private static final int FAILURES_OF_A_PROBLEM = 3;

    private static final double NANOS_PER_SECOND = Duration.ofSeconds(1).toNanos();

    final Ticker ticker;
    /** Deliveries that the receiver accepted. */
    final Counter sent;
    /** Deliveries that were given up. */
    final Counter failed;
    /** Attempts that failed and are repeated. */
    final Counter retried;
    /** Messages that were never tried, because too many waited or their events were no longer in memory. */
    final Counter dropped;

    private final String name;
    private final Semaphore wakeups = new Semaphore(0);
    // The thread of the delivery writes these two, and any thread reads them.
    private volatile Waiting waiting = new Waiting(0, null);
    private volatile Failures failures = new Failures(0, "");
    /** The position of the last event that needs no further attempt. */
    long position;

    private record Waiting(long number, @Nullable Instant oldest) {}

    /** The attempts that failed one after the other. */
    private record Failures(int number, String last) {}

    /** Creates a delivery with its name in metrics and problems, such as {@code mail}. */
    Delivery(String name, Ticker ticker, MeterRegistry registry) {
        this.name = name;
        this.ticker = ticker;
        Function<String, Counter> counter = result -> Counter.builder("genv.enforcer.deliveries")
                .description("Attempts to deliver messages and events, by result")
                .tag("kind", name)
                .tag("result", result)
                .register(registry);
        sent = counter.apply("sent");
        failed = counter.apply("failed");
        retried = counter.apply("retried");
        dropped = counter.apply("dropped");
        Gauge.builder("genv.enforcer.deliveries.waiting", this::waiting)
                .description("Messages or events that wait for their delivery")
                .tag("kind", name)
                .register(registry);
        Gauge.builder("genv.enforcer.deliveries.oldest", () -> oldest().toNanos() / NANOS_PER_SECOND)
                .description("Age of the oldest message or event that waits; 0 if none waits")
                .baseUnit("seconds")
                .tag("kind", name)
                .register(registry);
    }

    /**
     * Reads the new events, and delivers what is due. Each call of a receiver has a time limit. Returns the time after which the
     * next call is due if no event arrives before.
     */
    abstract Duration run(EventLog log) throws InterruptedException;

    /** Decides with which event it begins, before the first cycle: the next one. */
    void begin(EventLog log) {
        proceedTo(log.latest());
    }

    public final String name() {
        return name;
    }

    /** Why the latest attempts failed; empty if one of the last three succeeded. */
    public final Optional<String> problem() {
        var now = failures;
        return now.number() < FAILURES_OF_A_PROBLEM ? Optional.empty() : Optional.of(now.last());
    }

    /** Counts an accepted delivery, which ends the problem. */
    final void countSent() {
        sent.increment();
        failures = new Failures(0, "");
    }

    /** Counts an attempt that failed as {@link #retried} or {@link #failed}. */
    final void countFailure(Counter result, String why) {
        result.increment();
        failures = new Failures(failures.number() + 1, why);
    }

    /** Counts a delivery after which none follows, which is a problem at once. */
    final void countEnd(String why) {
        failed.increment();
        failures = new Failures(FAILURES_OF_A_PROBLEM, why);
    }

    /** Sets what waits, and since when the oldest has waited; null if nothing waits. */
    final void setWaiting(long number, @Nullable Instant oldest) {
        waiting = new Waiting(number, oldest);
    }

    final long waiting() {
        return waiting.number();
    }

    /** The age of the oldest message or event that waits; zero if none waits. */
    final Duration oldest() {
        var oldest = waiting.oldest();
        var age = oldest == null ? Duration.ZERO : Duration.between(oldest, ticker.now());
        return age.isNegative() ? Duration.ZERO : age; // the wall clock may have been set back
    }

    /** Sets the position of the last event that needs no further attempt. */
    void proceedTo(long sequence) {
        position = sequence;
    }

    /** Returns the next event after the position, and counts those that are no longer in memory. */
    final Optional<Event> next(EventLog log) {
        var page = log.after(position, 1);
        var event = page.events().stream().findFirst();
        if (page.hasGap()) {
            var last = event.map(Event::sequence).orElse(log.latest() + 1) - 1;
            dropped.increment((double) last - position);
            proceedTo(last);
        }
        return event;
    }

    /** Returns the mark that the ticker reaches after this time. */
    final long markAfter(Duration time) {
        return ticker.mark() + time.toNanos();
    }

    /** Returns the time until the ticker reaches a mark; zero if it has. */
    final Duration until(long mark) {
        return Duration.ofNanos(Math.max(mark - ticker.mark(), 0));
    }

    /**
     * Starts the thread, with a pause after a run that failed by a defect of the service. The events of earlier runs are restored
     * before, and the first cycle comes later. The delivery lasts until the result is closed, which abandons a call of a receiver.
     */
    public final EventSubscription start(EventLog log, RetryDelay retryDelay) {
        begin(log);
        var subscription = log.subscribe(wakeups::release);
        var thread = Thread.ofPlatform()
                .name("delivery-" + name)
                .daemon() // a receiver that does not answer must not prevent the exit of the service
                .start(() -> loop(log, retryDelay));
        return () -> {
            subscription.close();
            thread.interrupt();
        };
    }

    private void loop(EventLog log, RetryDelay retryDelay) {
        var defects = 0;
        try {
            while (true) {
                try {
                    var pause = run(log);
                    defects = 0;
                    wakeups.tryAcquire(pause.toNanos(), TimeUnit.NANOSECONDS);
                    wakeups.drainPermits();
                } catch (RuntimeException
                        | Error e) { // errors too, for example a lack of memory: the next run may succeed
                    defects++;
                    var pause = retryDelay.after(defects);
                    LOG.errorf(e, "The delivery %s failed; it continues in %d s", name, pause.toSeconds());
                    countFailure(failed, reason(e));
                    Thread.sleep(pause); // new events do not shorten it
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns the reason of a delivery that failed by a defect of the service. */
    static String reason(Throwable defect) {
        return "an error in the service: " + SafeText.escape(defect.toString(), Reply.LONGEST_REASON);
    }

    /**
     * What became of one attempt.
     *
     * @param why why the receiver did not accept it, as a clause; empty if it did
     * @param asked how long the receiver asks to wait before the next attempt
     */
    record Reply(ReplyKind kind, String why, Optional<Duration> asked) {
        static final Reply ACCEPTED = new Reply(ReplyKind.ACCEPTED, "");
        private static final int LONGEST_REASON = 200;

        Reply(ReplyKind kind, String why) {
            this(kind, why, Optional.empty());
        }

        static Reply failed(String why) {
            return new Reply(ReplyKind.FAILED, why);
        }

        /** Waits for the reply of a receiver, at most for this time. */
        static Reply await(
                Future<Reply> reply, String receiver, Duration timeout, Function<? super Throwable, Reply> failure)
                throws InterruptedException {
            try {
                return reply.toCompletionStage().toCompletableFuture().get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            } catch (TimeoutException e) {
                return failed("%s did not answer within %d s".formatted(receiver, timeout.toSeconds()));
            } catch (ExecutionException e) {
                return failure.apply(Objects.requireNonNullElse(e.getCause(), e));
            }
        }

        /** Returns a reason that the receiver or the network determines, without control characters and not too long. */
        static String escape(@Nullable String reason) {
            return SafeText.escape(String.valueOf(reason), LONGEST_REASON);
        }
    }

    /** The kinds of replies. */
    enum ReplyKind {
        ACCEPTED,
        /** It was not accepted, and may be accepted later. */
        FAILED,
        /** The receiver refuses this message, and perhaps accepts others. */
        REFUSED,
        /** The receiver wants no more messages. */
        GONE
    }

    /**
     * The time from a failed attempt to the next one: it doubles from the shortest to the longest. Up to a fifth is added at random, or
     * subtracted near the longest, so that many nodes do not call a receiver at the same time.
     *
     * @param shortest after the first failure
     * @param longest the result is never longer
     */
    public record RetryDelay(Duration shortest, Duration longest, RandomGenerator random) {
        private static final double JITTER = 0.2;

        /** Returns the delay after this number of failures in a row, at least one. */
        public Duration after(int failures) {
            var most = longest.toNanos();
            var base = Math.min((long) (shortest.toNanos() * Math.pow(2, failures - 1)), most);
            var extra = (long) (base * JITTER * random.nextDouble());
            return Duration.ofNanos(base + extra > most ? base - extra : base + extra);
        }
    }
}
