package dev.genv.enforcer.notification;

import dev.genv.enforcer.enforcement.event.EventLog;
import dev.genv.enforcer.notification.notice.Notice;
import dev.genv.enforcer.notification.notice.PersonalNotice;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/** Reads the notices for users from the events, each once. Events of earlier runs are left out: they are no news for a user. */
public final class NoticeReader {
    private static final int PAGE = 200;

    private final boolean inAudit;
    private long position;

    /**
     * Creates a reader.
     *
     * @param inAudit whether users are informed of violations on which the service does not act
     */
    public NoticeReader(boolean inAudit) {
        this.inAudit = inAudit;
    }

    /** Begins with the next event. */
    public void begin(EventLog log) {
        position = log.latest();
    }

    /**
     * Reads all new events.
     *
     * @param lost called with the number of events that are no longer in memory
     */
    public void read(EventLog log, Consumer<PersonalNotice> notices, LongConsumer lost) {
        var page = log.after(position, PAGE);
        while (!page.events().isEmpty()) {
            if (page.hasGap()) {
                lost.accept(page.events().getFirst().sequence() - position - 1);
            }
            for (var event : page.events()) {
                Notice.of(event)
                        .ifPresent(notice -> PersonalNotice.of(notice, inAudit).forEach(notices));
            }
            position = page.events().getLast().sequence();
            page = log.after(position, PAGE);
        }
    }
}
