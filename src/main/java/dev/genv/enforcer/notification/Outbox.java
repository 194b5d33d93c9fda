package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.host.Ticker;
import dev.genv.enforcer.enforcement.record.ViolationRecord.ActionNote;
import dev.genv.enforcer.notification.Notice.NoticeKind;
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
import org.jspecify.annotations.Nullable;

/**
 * Collects the notices for each person, so that a burst becomes one message, and limits the messages of a person. Not thread-
 * safe.
 */
public final class Outbox<K> {
    private static final Duration PERIOD = Duration.ofHours(1);
    private static final int MOST_PERSONS = 200;
    private static final int MOST_NOTICES = 10;

    private final Duration delay;
    private final int perHour;
    private final Ticker ticker;
    private final Map<K, Pending> pending = new LinkedHashMap<>();
    /** When each person got the messages of the last hour, oldest first. */
    private final Map<K, Deque<Long>> sent = new HashMap<>();

    /** Creates an outbox that collects the notices of a person for this delay, and limits the messages of a person in an hour. */
    public Outbox(Duration delay, int perHour, Ticker ticker) {
        this.delay = delay;
        this.perHour = perHour;
        this.ticker = ticker;
    }

    /** The notices of one message, and the number of further ones. */
    public record Batch<K>(K person, List<PersonalNotice> notices, int omitted) {}

    /** What a later notice replaces: the same violation and the same process or attachment. */
    private record Key(String violation, ActionNote.@Nullable Target target) {
        static Key of(PersonalNotice personal) {
            var action = personal.notice().action();
            return new Key(personal.violation().id(), action == null ? null : action.target());
        }
    }

    private static final class Pending {
        private final Map<Key, PersonalNotice> notices = new LinkedHashMap<>();
        private final long since;
        private int omitted;

        Pending(long since) {
            this.since = since;
        }

        /** Adds a notice. Of a violation that is over before its user was warned, nothing remains. */
        void add(PersonalNotice personal) {
            if (personal.notice().kind() == NoticeKind.RESOLVED
                    && forget(personal.violation().id())) {
                return;
            }
            var key = Key.of(personal);
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

    /** Adds a notice; returns false if there is no room for another person. */
    public boolean add(K person, PersonalNotice notice) {
        if (pending.size() >= MOST_PERSONS && !pending.containsKey(person)) {
            return false;
        }
        pending.computeIfAbsent(person, _ -> new Pending(ticker.mark())).add(notice);
        pending.values().removeIf(each -> each.notices.isEmpty());
        return true;
    }

    /** Removes what is due now, one message after the other. If the action fails, the messages after that one remain. */
    public void takeDue(Consumer<Batch<K>> action) {
        forgetOldMessages();
        for (var entries = pending.entrySet().iterator(); entries.hasNext(); ) {
            var entry = entries.next();
            var person = entry.getKey();
            var waiting = entry.getValue();
            if (untilDue(person, waiting).isZero()) {
                entries.remove();
                sent.computeIfAbsent(person, _ -> new ArrayDeque<>()).addLast(ticker.mark());
                action.accept(new Batch<>(person, List.copyOf(waiting.notices.values()), waiting.omitted));
            }
        }
    }

    public boolean isDue() {
        return untilDue().filter(Duration::isZero).isPresent();
    }

    /** The time until something is due; empty if nothing waits. */
    public Optional<Duration> untilDue() {
        return pending.entrySet().stream()
                .map(entry -> untilDue(entry.getKey(), entry.getValue()))
                .min(Comparator.naturalOrder());
    }

    public long size() {
        return pending.values().stream()
                .mapToLong(each -> each.notices.size() + each.omitted)
                .sum();
    }

    /** When the oldest of the notices was recorded. */
    public Optional<Instant> oldest() {
        return pending.values().stream()
                .flatMap(each -> each.notices.values().stream())
                .map(each -> each.notice().at())
                .min(Comparator.naturalOrder());
    }

    private Duration untilDue(K person, Pending notices) {
        var collected = Delivery.rest(delay, ticker, notices.since);
        var messages = sent.get(person);
        if (messages == null || messages.size() < perHour) {
            return collected;
        }
        var permitted = Delivery.rest(PERIOD, ticker, messages.getFirst());
        return permitted.compareTo(collected) > 0 ? permitted : collected;
    }

    private void forgetOldMessages() {
        sent.values().removeIf(messages -> {
            messages.removeIf(at -> ticker.since(at).compareTo(PERIOD) >= 0);
            return messages.isEmpty();
        });
    }
}
