package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.report.DeliveryCursors;
import dev.genv.enforcer.enforcement.report.EventLog;
import dev.genv.enforcer.enforcement.report.EventLog.EventSubscription;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Sender.Limits;
import dev.genv.enforcer.notification.Sender.Message;
import dev.genv.enforcer.notification.Sender.Recipients;
import dev.genv.enforcer.notification.Sender.Reply;
import dev.genv.enforcer.notification.Sender.ReplyKind;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jboss.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * Delivers the messages of one kind on its own thread. It reads the events at its own speed, so a cycle never waits for it. It collects
 * the notices for each recipient, so that a burst becomes one message, limits the messages of a recipient, and repeats failed attempts.
 * The events wait in the log of events, so nothing else grows while a receiver does not answer.
 */
public final class Outbox {
    private static final Logger LOG = Logger.getLogger(Outbox.class);
    /** The longest time until the next run if nothing waits. */
    static final Duration IDLE = Duration.ofHours(1);

    private static final Duration PERIOD = Duration.ofHours(1);
    private static final int PAGE = 100;
    private static final int MOST_NOTICES = 50;

    /** No further event is read while so many messages wait. */
    static final int MOST_WAITING = 200;

    /** How long a notice waits for the name of its user. The pauses of the name service after failures have at most this length. */
    static final Duration LONGEST_PENDING = Duration.ofHours(1);

    private static final Duration PENDING_RETRY = Duration.ofSeconds(5);
    private static final int MOST_PENDING = 1_000;

    /** One failed attempt is no problem yet, because a receiver may restart. */
    private static final int FAILURES_OF_A_PROBLEM = 3;

    private static final double NANOS_PER_SECOND = Duration.ofSeconds(1).toNanos();

    /** Messages that the receiver accepted. */
    final Counter sent;
    /** Messages that were given up. */
    final Counter failed;
    /** Attempts that failed and are repeated. */
    final Counter retried;
    /** Events that were never read, because they were no longer in memory. */
    final Counter dropped;

    private final Sender sender;
    private final Limits limits;
    private final DeliveryCursors cursors;
    private final Ticker ticker;
    private final RandomGenerator random;
    private final Semaphore wakeups = new Semaphore(0);

    /** Those for users whose name is not known yet, oldest first. */
    private final List<Nameless> nameless = new ArrayList<>();
    /** In the order of their first notices. */
    private final List<Pending> waiting = new ArrayList<>();
    /** An hour after each of the messages that each recipient got, oldest first. */
    private final Map<String, Deque<Long>> messages = new HashMap<>();
    /** The position of the last event that was read. */
    private long position;
    /** When the next attempt may follow, if messages keep their order. */
    private long pausedUntil;

    private boolean gone;
    // The thread of the outbox writes these two, and any thread reads them.
    private volatile Queue queue = new Queue(0, null);
    private volatile Failures failures = new Failures(0, "");

    private record Nameless(long uid, Notice notice, long until) {}

    private record Queue(long number, @Nullable Instant oldest) {}

    /** The attempts that failed one after the other. */
    private record Failures(int number, String last) {}

    /**
     * Creates an outbox.
     *
     * @param cursors where the position is stored, if the receiver gets {@link Limits#everyEvent every event}
     */
    public Outbox(
            Sender sender, DeliveryCursors cursors, Ticker ticker, RandomGenerator random, MeterRegistry registry) {
        this.sender = sender;
        this.limits = sender.limits();
        this.cursors = cursors;
        this.ticker = ticker;
        this.random = random;
        pausedUntil = ticker.mark();
        var name = sender.name();
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

    public String name() {
        return sender.name();
    }

    /** Why the latest attempts failed, or why some get no message; empty if one of the last three succeeded, and everybody gets them. */
    public Optional<String> problem() {
        var now = failures;
        return now.number() < FAILURES_OF_A_PROBLEM ? sender.problem() : Optional.of(now.last());
    }

    long waiting() {
        return queue.number();
    }

    /** The age of the oldest message or event that waits; zero if none waits. */
    Duration oldest() {
        var oldest = queue.oldest();
        var age = oldest == null ? Duration.ZERO : Duration.between(oldest, ticker.now());
        return age.isNegative() ? Duration.ZERO : age; // the wall clock may have been set back
    }

    /**
     * Starts the thread. The events of earlier runs are restored before, and the first cycle comes later. The thread runs until the result
     * is closed, which abandons a call of a receiver.
     */
    public EventSubscription start(EventLog log) {
        begin(log);
        var subscription = log.subscribe(wakeups::release);
        var thread = Thread.ofPlatform()
                .name("delivery-" + name())
                .daemon() // a receiver that does not answer must not prevent the exit of the service
                .start(() -> loop(log));
        return () -> {
            subscription.close();
            thread.interrupt();
        };
    }

    private void loop(EventLog log) {
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
                    var pause = limits.retryDelay(defects, random);
                    LOG.errorf(e, "The delivery %s failed; it continues in %d s", name(), pause.toSeconds());
                    countFailure(failed, reason(e));
                    Thread.sleep(pause); // new events do not shorten it
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Decides with which event it begins: the next one, or the one after the cursor. The cursor is ahead of the log if the database was
     * removed. It is stored at once, so that a restart before the first accepted event continues with the same event.
     */
    void begin(EventLog log) {
        var latest = log.latest();
        position = limits.everyEvent() ? Math.min(cursors.load(name()).orElse(latest), latest) : latest;
        storePosition();
    }

    /**
     * Reads the new events, and delivers what is due. Each call of a receiver has a time limit. Returns the time after which the next call
     * is due if no event arrives before.
     */
    Duration run(EventLog log) throws InterruptedException {
        read(log);
        for (var due = due(); due.isPresent(); due = due()) {
            attempt(due.get());
            storePosition();
            read(log);
        }
        var retry = nameless.isEmpty() ? IDLE : PENDING_RETRY;
        return gone
                ? IDLE
                : Stream.concat(Stream.of(retry), candidates().map(this::until))
                        .min(Comparator.naturalOrder())
                        .orElseThrow();
    }

    /** Reads each event once, and looks again who gets the earlier ones. */
    private void read(EventLog log) {
        try {
            findRecipients();
            while (!gone && waiting.size() < (limits.everyEvent() ? 1 : MOST_WAITING)) {
                var page = log.after(position, PAGE);
                var events = page.events();
                if (page.hasGap()) {
                    var last =
                            events.isEmpty() ? log.latest() : events.getFirst().sequence() - 1;
                    dropped.increment((double) last - position);
                    position = last;
                }
                for (var event : events) {
                    position = event.sequence(); // first, so that an event that fails is not read again
                    Notice.of(event)
                            .ifPresent(notice -> collect(sender.recipients(notice), markAfter(LONGEST_PENDING)));
                }
                if (events.isEmpty()) {
                    break;
                }
            }
        } finally {
            storePosition();
            showWaiting(log);
        }
    }

    private void findRecipients() {
        var earlier = List.copyOf(nameless);
        nameless.clear();
        earlier.stream()
                .filter(each -> !until(each.until).isZero())
                .forEach(each -> collect(sender.recipients(each.uid, each.notice), each.until));
    }

    private void collect(Recipients recipients, long until) {
        recipients.known().forEach(this::collect);
        recipients.pending().forEach((uid, its) -> {
            var ofUser = nameless.stream().filter(each -> each.uid == uid).count();
            if (ofUser < MOST_NOTICES && nameless.size() < MOST_PENDING) {
                nameless.add(new Nameless(uid, its, until));
            }
        });
    }

    private void storePosition() {
        if (limits.everyEvent()) {
            cursors.store(
                    name(),
                    waiting.isEmpty() ? position : waiting.getFirst().first().sequence() - 1);
        }
    }

    private void showWaiting(EventLog log) {
        var collected = waiting.stream().mapToLong(Pending::size).sum();
        var unread = log.after(position, 1).events().stream();
        queue = new Queue(
                collected + log.latest() - position,
                Stream.concat(waiting.stream().map(each -> each.first().at()), unread.map(event -> event.at()))
                        .min(Comparator.naturalOrder())
                        .orElse(null));
    }

    private void collect(String recipient, Notice notice) {
        // A message of events may take only one that follows directly, so that they keep their order.
        var message = (limits.everyEvent() ? waiting.stream().skip(Math.max(waiting.size() - 1, 0)) : waiting.stream())
                .filter(each -> each.recipient.equals(recipient)
                        && (each.failures == 0 || (!limits.everyEvent() && each.warnsOf(notice))))
                .findFirst()
                .orElseGet(() -> {
                    var created = new Pending(recipient, due(recipient));
                    waiting.add(created);
                    return created;
                });
        if (limits.everyEvent()) {
            message.notices.put(notice.sequence(), notice);
        } else {
            message.addLatest(notice);
        }
        waiting.removeIf(each -> each.notices.isEmpty());
    }

    /** Returns when the next message of a recipient is due: when its notices are collected, and the limit permits another one. */
    private long due(String recipient) {
        messages.values().removeIf(ends -> {
            ends.removeIf(end -> until(end).isZero());
            return ends.isEmpty();
        });
        var ends = messages.getOrDefault(recipient, new ArrayDeque<>());
        var collected = markAfter(limits.collected());
        return ends.size() < limits.perHour() ? collected : Math.max(collected, ends.getFirst());
    }

    /** What a later notice replaces: the same violation and the same process or attachment. */
    private record Key(String violation, ActionNote.@Nullable Target target) {
        static Key of(Notice notice) {
            var action = notice.action();
            return new Key(notice.violation().id(), action == null ? null : action.target());
        }
    }

    /** A message that is collected, or that the receiver has not accepted yet. */
    private static final class Pending {
        private final String recipient;
        private final Map<Object, Notice> notices = new LinkedHashMap<>();
        private int omitted;
        private long due;
        private int failures;
        private int refusals;

        Pending(String recipient, long due) {
            this.recipient = recipient;
            this.due = due;
        }

        Notice first() {
            return notices.values().iterator().next();
        }

        long size() {
            return (long) notices.size() + omitted;
        }

        /** Whether it has a warning that says less than this later notice, so that an attempt after it would come too late. */
        boolean warnsOf(Notice later) {
            return notices.values().stream()
                    .filter(each -> each.kind() == NoticeKind.WARNED)
                    .anyMatch(each -> later.kind() == NoticeKind.RESOLVED
                            ? each.violation().id().equals(later.violation().id())
                            : Key.of(each).equals(Key.of(later)));
        }

        /** Adds a notice, which may replace a former one. Of a violation that is over before its user was warned, nothing remains. */
        void addLatest(Notice notice) {
            var violation = notice.violation().id();
            if (notice.kind() == NoticeKind.RESOLVED
                    && notices.values()
                            .removeIf(each ->
                                    each.violation().id().equals(violation) && each.kind() == NoticeKind.WARNED)) {
                return;
            }
            var key = Key.of(notice);
            if (notices.size() >= MOST_NOTICES && !notices.containsKey(key)) {
                omitted++;
            } else {
                notices.put(key, notice);
            }
        }
    }

    /** The messages that may be sent next: in their order if the receiver gets every event. */
    private Stream<Pending> candidates() {
        return limits.everyEvent() ? waiting.stream().limit(1) : waiting.stream();
    }

    private Optional<Pending> due() {
        return gone
                ? Optional.empty()
                : candidates().filter(each -> until(each).isZero()).findFirst();
    }

    private void attempt(Pending message) throws InterruptedException {
        if (isTooOld(message)) {
            LOG.warnf(
                    "%s: a message to %s is given up, because it is too old: %s",
                    name(), SafeText.escape(message.recipient), failures.last());
            failed.increment();
            waiting.remove(message);
            return;
        }
        if (message.failures == 0 && !limits.everyEvent()) {
            messages.computeIfAbsent(message.recipient, _ -> new ArrayDeque<>()).addLast(markAfter(PERIOD));
        }
        var reply = send(message);
        switch (reply.kind()) {
            case ACCEPTED -> {
                sent.increment();
                failures = new Failures(reply.why().isEmpty() ? 0 : FAILURES_OF_A_PROBLEM, reply.why());
                waiting.remove(message);
            }
            case NOBODY -> waiting.remove(message);
            case GONE -> {
                gone = true;
                failed.increment();
                failures = new Failures(FAILURES_OF_A_PROBLEM, reply.why() + "; a restart of the service tries again");
                LOG.errorf("%s: %s; no more is sent until the service is restarted", name(), reply.why());
            }
            case FAILED, REFUSED -> fail(message, reply);
        }
    }

    /** After such a time nobody needs the message. A first attempt is made at any age, because the service may have been stopped. */
    private boolean isTooOld(Pending message) {
        var attempts = limits.everyEvent() ? failures.number() : message.failures;
        return attempts > 0
                && Duration.between(message.first().at(), ticker.now()).compareTo(limits.longestAge()) >= 0;
    }

    /** An error of the service counts as a refusal, so the later messages are sent. */
    private Reply send(Pending message) throws InterruptedException {
        try {
            return sender.send(new Message(message.recipient, List.copyOf(message.notices.values()), message.omitted));
        } catch (RuntimeException e) {
            LOG.errorf(
                    e,
                    "%s: the message %s could not be sent",
                    name(),
                    message.first().id());
            return new Reply(ReplyKind.REFUSED, reason(e));
        }
    }

    private void fail(Pending message, Reply reply) {
        message.failures++;
        message.refusals += reply.kind() == ReplyKind.REFUSED ? 1 : 0;
        var isGivenUp = message.refusals == limits.mostRefusals();
        countFailure(isGivenUp ? failed : retried, reply.why());
        if (isGivenUp || message.failures == 1) {
            LOG.warnf(
                    "%s: a message to %s %s: %s",
                    name(),
                    SafeText.escape(message.recipient),
                    isGivenUp ? "is given up" : "was not sent and is tried again",
                    reply.why());
        }
        if (isGivenUp) {
            waiting.remove(message);
        }
        // Also over messages that are given up, because a receiver may refuse all of them.
        var attempts = limits.everyEvent() ? failures.number() : message.failures;
        message.due = markAfter(reply.asked()
                .filter(wait -> wait.compareTo(limits.shortestRetry()) > 0)
                .orElseGet(() -> limits.retryDelay(attempts, random)));
        if (limits.everyEvent()) {
            pausedUntil = message.due;
        }
    }

    private void countFailure(Counter result, String why) {
        result.increment();
        failures = new Failures(failures.number() + 1, why);
    }

    /** Returns the reason of a delivery that failed by a defect of the service. */
    private static String reason(Throwable defect) {
        return "an error in the service: " + Reply.escape(Objects.toString(defect));
    }

    private Duration until(Pending message) {
        return until(Math.max(message.due, pausedUntil));
    }

    /** Returns the mark that the ticker reaches after this time. */
    private long markAfter(Duration time) {
        return ticker.mark() + time.toNanos();
    }

    /** Returns the time until the ticker reaches a mark; zero if it has. */
    private Duration until(long mark) {
        return Duration.ofNanos(Math.max(mark - ticker.mark(), 0));
    }
}
