package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.DeliveryFigures;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.model.SafeText;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** One kind of delivery, with its own thread. It reads the events at its own speed, so a cycle never waits for it. */
public interface Delivery {
    /** The name in metrics and problems, such as {@code mail}. */
    String name();

    /** Decides with which event it begins, before the first cycle. */
    void begin(EventLog log);

    /**
     * Reads the new events, and delivers what is due. Each call of a receiver has a time limit. Returns the time after which the
     * next call is due if no event arrives before.
     */
    Duration run(EventLog log) throws InterruptedException;

    /** Its figures and its problem. */
    DeliveryStatistics statistics();

    /** Returns what is left of a time that began at this mark of the ticker. */
    static Duration rest(Duration length, Ticker ticker, long since) {
        var rest = length.minus(ticker.since(since));
        return rest.isNegative() ? Duration.ZERO : rest;
    }

    /** Counts the deliveries of one kind. The thread of the delivery writes, any thread reads. */
    final class DeliveryStatistics {
        private static final int LONGEST_REASON = 200;
        /** One failed attempt is no problem yet, because a receiver may restart. */
        private static final int FAILURES_OF_A_PROBLEM = 3;

        private final Ticker ticker;
        private final AtomicLong sent = new AtomicLong();
        private final AtomicLong failed = new AtomicLong();
        private final AtomicLong retried = new AtomicLong();
        private final AtomicLong dropped = new AtomicLong();
        private volatile Waiting waiting = new Waiting(0, null);
        private volatile Failures failures = new Failures(0, "");

        private record Waiting(long number, @Nullable Instant oldest) {}

        /** The attempts that failed one after the other. */
        private record Failures(int number, String last) {}

        public DeliveryStatistics(Ticker ticker) {
            this.ticker = ticker;
        }

        /** Counts an accepted delivery, which ends the problem. */
        public void countSent() {
            sent.incrementAndGet();
            failures = new Failures(0, "");
        }

        /** Counts an attempt that is repeated. */
        public void countRetry(String why) {
            retried.incrementAndGet();
            failures = new Failures(failures.number() + 1, why);
        }

        /** Counts a delivery that is given up. */
        public void countFailed(String why) {
            failed.incrementAndGet();
            failures = new Failures(failures.number() + 1, why);
        }

        /** Counts a delivery after which none follows, which is a problem at once. */
        public void countEnd(String why) {
            failed.incrementAndGet();
            failures = new Failures(FAILURES_OF_A_PROBLEM, why);
        }

        /** Returns the reason of a delivery that failed by a defect of the service. */
        public static String reason(Throwable defect) {
            return "an error in the service: " + SafeText.escape(defect.toString(), LONGEST_REASON);
        }

        /** Counts messages that were never tried. */
        public void countDropped(long number) {
            dropped.addAndGet(number);
        }

        /** Sets what waits, and since when the oldest has waited; null if nothing waits. */
        public void setWaiting(long number, @Nullable Instant oldest) {
            waiting = new Waiting(number, oldest);
        }

        public DeliveryFigures figures() {
            var now = waiting;
            var oldest = now.oldest();
            var age = oldest == null ? Duration.ZERO : Duration.between(oldest, ticker.now());
            return new DeliveryFigures(
                    sent.get(),
                    failed.get(),
                    retried.get(),
                    dropped.get(),
                    now.number(),
                    age.isNegative() ? Duration.ZERO : age); // the wall clock may have been set back
        }

        /** Why the latest attempts failed; empty if one of the last three succeeded. */
        public Optional<String> problem() {
            var now = failures;
            return now.number() < FAILURES_OF_A_PROBLEM ? Optional.empty() : Optional.of(now.last());
        }
    }

    /**
     * The time from a failed attempt to the next one: it doubles from the shortest to the longest. Up to a fifth is added at random, or
     * subtracted near the longest, so that many nodes do not call a receiver at the same time.
     *
     * @param shortest after the first failure
     * @param longest the result is never longer
     */
    record RetryDelay(Duration shortest, Duration longest, RandomGenerator random) {
        private static final int MOST_DOUBLINGS = 30;
        private static final double JITTER = 0.2;

        /** Returns the delay after this number of failures in a row, at least one. */
        public Duration after(int failures) {
            var doubled = shortest.multipliedBy(1L << Math.min(failures - 1, MOST_DOUBLINGS));
            var base = doubled.compareTo(longest) > 0 ? longest : doubled;
            var extra = Duration.ofNanos((long) (base.toNanos() * JITTER * random.nextDouble()));
            var longer = base.plus(extra);
            return longer.compareTo(longest) > 0 ? base.minus(extra) : longer;
        }
    }
}
