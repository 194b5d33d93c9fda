package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.record.EventLog;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** Reads the notices for users from the events, each once. Events of earlier runs are left out: a user needs to know only what happens now. */
public final class NoticeReader {
    private static final int PAGE = 200;

    /** The cycle publishes its events a moment before its users are known. */
    private static final Duration PAUSE = Duration.ofMillis(100);

    private final UserDirectory users;
    private final boolean inAudit;
    private long position;

    /**
     * Creates a reader, which reads an event when its users are known. In audit, users are informed of violations on which the
     * service does not act.
     */
    public NoticeReader(UserDirectory users, boolean inAudit) {
        this.users = users;
        this.inAudit = inAudit;
    }

    /** Begins with the next event. */
    public void begin(EventLog log) {
        position = log.latest();
    }

    /**
     * Reads all new events, and reports the number of those that are no longer in memory. Returns the time after which further
     * events can be read; empty if there are none.
     */
    public Optional<Duration> read(EventLog log, Consumer<PersonalNotice> notices, LongConsumer lost) {
        var last = users.currentUpTo();
        var page = log.after(position, PAGE);
        while (!page.events().isEmpty()) {
            if (page.hasGap()) {
                var next = page.events().getFirst().sequence();
                lost.accept(next - position - 1);
                position = next - 1;
            }
            for (var event : page.events()) {
                if (event.sequence() > last) {
                    return Optional.of(PAUSE);
                }
                position = event.sequence(); // first, so that an event that fails is not read again
                Notice.of(event).ifPresent(notice -> personal(notice).forEach(notices));
            }
            page = log.after(position, PAGE);
        }
        return Optional.empty();
    }

    private List<PersonalNotice> personal(Notice notice) {
        var hosts = notice.violation().violation().hosts();
        return PersonalNotice.of(notice, inAudit, process -> users.isPerson(hosts, process), users::ownersOf);
    }
}
