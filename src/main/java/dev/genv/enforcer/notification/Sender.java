package dev.genv.enforcer.notification;

import dev.genv.enforcer.model.SafeText;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Sends the messages of one kind, each once. Only the thread of its outbox calls it. */
public interface Sender {
    /** The name in metrics and problems, such as {@code mail}. */
    String name();

    Limits limits();

    /** Returns who gets a notice; nobody if nobody needs it. */
    Recipients recipients(Notice notice);

    /** Tries again to find the recipient of what a user gets, whose account was not known. */
    default Recipients recipients(long uid, Notice personal) {
        return Recipients.of(Map.of());
    }

    /**
     * Who gets a notice.
     *
     * @param known what each recipient gets
     * @param pending what users get whose account is not known yet, by their uids
     */
    record Recipients(Map<String, Notice> known, Map<Long, Notice> pending) {
        static Recipients of(Map<String, Notice> known) {
            return new Recipients(known, Map.of());
        }
    }

    /** Returns why some get no message, as a clause; empty if there is no such problem. */
    default Optional<String> problem() {
        return Optional.empty();
    }

    /** Sends a message, and waits for the answer of the receiver for a limited time. */
    Reply send(Message message) throws InterruptedException;

    /**
     * A message to one recipient.
     *
     * @param notices at least one, oldest first
     * @param omitted the number of further notices
     */
    record Message(String recipient, List<Notice> notices, int omitted) {}

    /**
     * When messages are sent, and when they are given up.
     *
     * @param collected how long notices are collected for one message
     * @param perHour how many messages a recipient gets in an hour at most
     * @param shortestRetry the time until the next attempt after the first failure
     * @param longestRetry the longest time between two attempts
     * @param longestAge the age of the first notice after which a message that failed is given up
     * @param mostRefusals how often a receiver may refuse a message before it is given up
     * @param everyEvent whether the receiver gets each event in its order, also those before a restart
     */
    record Limits(
            Duration collected,
            int perHour,
            Duration shortestRetry,
            Duration longestRetry,
            Duration longestAge,
            int mostRefusals,
            boolean everyEvent) {
        private static final double JITTER = 0.2;

        /** Those of messages to users, who need to know only what happens now. */
        public static Limits ofUsers(Duration collected, int perHour) {
            return new Limits(
                    collected, perHour, Duration.ofSeconds(30), Duration.ofMinutes(15), Duration.ofHours(4), 1, false);
        }

        static Limits ofEveryEvent() {
            return new Limits(
                    Duration.ZERO,
                    Integer.MAX_VALUE,
                    Duration.ofSeconds(5),
                    Duration.ofHours(1),
                    Duration.ofDays(1),
                    3,
                    true);
        }

        /**
         * Returns the time after this number of failures in a row, at least one: it doubles from the shortest to the longest. Up to a fifth is
         * added at random, or subtracted near the longest, so that many nodes do not call a receiver at the same time.
         */
        Duration retryDelay(int failures, RandomGenerator random) {
            var most = longestRetry.toNanos();
            var base = Math.min((long) (shortestRetry.toNanos() * Math.pow(2, failures - 1)), most);
            var extra = (long) (base * JITTER * random.nextDouble());
            return Duration.ofNanos(base + extra > most ? base - extra : base + extra);
        }
    }

    /**
     * What became of one attempt.
     *
     * @param why why the receiver did not accept it, or who gets no copy, as a clause; empty if it was accepted for all
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
        /** The recipient cannot get such messages at present. */
        NOBODY,
        /** It was not accepted, and may be accepted later. */
        FAILED,
        /** The receiver refuses this message, and perhaps accepts others. */
        REFUSED,
        /** The receiver wants no more messages. */
        GONE
    }
}
