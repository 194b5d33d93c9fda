package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.EventLog;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.notification.Notice.PersonalNotice;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A delivery of messages to users. It collects the notices for each person, so that a burst becomes one message, and limits the messages
 * of a person. Events of earlier runs are left out: a user needs to know only what happens now.
 */
public abstract class PersonalDelivery<K> extends Delivery {
    /** The cycle publishes its events a moment before its users are known. */
    private static final Duration PAUSE = Duration.ofMillis(100);

    private static final Duration PERIOD = Duration.ofHours(1);
    private static final int MOST_PERSONS = 200;
    private static final int MOST_NOTICES = 50;

    final MessageSource source;
    final Limits limits;
    private final Map<K, Pending> pending = new LinkedHashMap<>();
    /** An hour after each of the messages that each person got, oldest first. */
    private final Map<K, Deque<Long>> messages = new HashMap<>();

    PersonalDelivery(String name, MessageSource source, Limits limits, Ticker ticker, MeterRegistry registry) {
        super(name, ticker, registry);
        this.source = source;
        this.limits = limits;
    }

    /**
     * What all messages to users are made from.
     *
     * @param inAudit whether users are informed of violations on which the service does not act
     */
    public record MessageSource(UserDirectory users, NoticeText text, boolean inAudit) {}

    /** How long notices are collected for one message, and how many messages a user gets in an hour at most. */
    public record Limits(Duration collected, int perHour) {}

    /** Returns who gets the notice; empty if nobody can. */
    abstract Optional<K> person(PersonalNotice personal);

    /** Delivers what is due. Returns the time after which it needs another call, apart from what is collected. */
    abstract Optional<Duration> deliver() throws InterruptedException;

    /** Returns when the messages were recorded that are no longer collected, and still wait. */
    List<Instant> queued() {
        return List.of();
    }

    @Override
    final Duration run(EventLog log) throws InterruptedException {
        var more = read(log);
        var next = deliver();
        showWaiting();
        return Stream.of(next, untilDue(), more)
                .flatMap(Optional::stream)
                .min(Comparator.naturalOrder())
                .orElse(IDLE);
    }

    /** Reads each event once, when its users are known. Returns the time after which further events can be read; empty if there are none. */
    private Optional<Duration> read(EventLog log) {
        var last = source.users().currentUpTo();
        for (var next = next(log); next.isPresent(); next = next(log)) {
            var event = next.get();
            if (event.sequence() > last) {
                return Optional.of(PAUSE);
            }
            proceedTo(event.sequence()); // first, so that an event that fails is not read again
            Notice.of(event).ifPresent(this::collect);
        }
        return Optional.empty();
    }

    private void collect(Notice notice) {
        notice.personal(source.users(), source.inAudit())
                .forEach(personal -> person(personal).ifPresent(person -> collect(person, personal)));
    }

    final void collect(K person, PersonalNotice personal) {
        if (pending.size() >= MOST_PERSONS && !pending.containsKey(person)) {
            dropped.increment();
        } else {
            pending.computeIfAbsent(person, _ -> new Pending(due(person))).add(personal);
            pending.values().removeIf(each -> each.notices.isEmpty());
        }
    }

    /** Returns when the next message of a person is due: when its notices are collected, and the limit permits another one. */
    private long due(K person) {
        forgetOldMessages();
        var ends = messages.getOrDefault(person, new ArrayDeque<>());
        var permitted = ends.size() < limits.perHour() ? Duration.ZERO : until(ends.getFirst());
        return markAfter(permitted.compareTo(limits.collected()) > 0 ? permitted : limits.collected());
    }

    /** The notices of one message, and the number of further ones. */
    record Batch<K>(K person, List<PersonalNotice> notices, int omitted) {}

    /** What a later notice replaces: the same violation and the same process or attachment. */
    private record Key(String violation, ActionNote.@Nullable Target target) {}

    private static final class Pending {
        private final Map<Key, PersonalNotice> notices = new LinkedHashMap<>();
        private final long due;
        private int omitted;

        Pending(long due) {
            this.due = due;
        }

        /** Adds a notice. Of a violation that is over before its user was warned, nothing remains. */
        void add(PersonalNotice personal) {
            if (personal.notice().kind() == NoticeKind.RESOLVED
                    && forget(personal.violation().id())) {
                return;
            }
            var action = personal.notice().action();
            var key = new Key(personal.violation().id(), action == null ? null : action.target());
            if (notices.size() >= MOST_NOTICES && !notices.containsKey(key)) {
                omitted++;
            } else {
                notices.put(key, personal);
            }
        }

        private boolean forget(String violation) {
            return notices.values()
                    .removeIf(each -> each.violation().id().equals(violation)
                            && each.notice().kind() == NoticeKind.WARNED);
        }
    }

    /** Removes what is due now, one message after the other. If the action fails, the messages after that one remain. */
    final void takeDue(Consumer<Batch<K>> action) {
        forgetOldMessages();
        for (var entries = pending.entrySet().iterator(); entries.hasNext(); ) {
            var entry = entries.next();
            var person = entry.getKey();
            var waiting = entry.getValue();
            if (until(waiting.due).isZero()) {
                entries.remove();
                messages.computeIfAbsent(person, _ -> new ArrayDeque<>()).addLast(markAfter(PERIOD));
                action.accept(new Batch<>(person, List.copyOf(waiting.notices.values()), waiting.omitted));
            }
        }
    }

    private void forgetOldMessages() {
        messages.values().removeIf(ends -> {
            ends.removeIf(end -> until(end).isZero());
            return ends.isEmpty();
        });
    }

    final boolean isDue() {
        return untilDue().filter(Duration::isZero).isPresent();
    }

    /** The time until something that is collected is due; empty if nothing is. */
    final Optional<Duration> untilDue() {
        return pending.values().stream().map(each -> until(each.due)).min(Comparator.naturalOrder());
    }

    final void showWaiting() {
        var collected = pending.values().stream()
                .mapToLong(each -> each.notices.size() + each.omitted)
                .sum();
        var oldest = pending.values().stream()
                .flatMap(each -> each.notices.values().stream())
                .map(each -> each.notice().at());
        setWaiting(
                collected + queued().size(),
                Stream.concat(oldest, queued().stream())
                        .min(Comparator.naturalOrder())
                        .orElse(null));
    }
}
