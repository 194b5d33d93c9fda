package dev.genv.enforcer.notification.notice;

import java.util.Locale;

/** What happened to a violation. */
public enum NoticeKind {
    /** A cycle found the violation for the first time. */
    OPENED,
    /** The service will act on it, and waits for a grace period. */
    WARNED,
    /** The service acted on it, or tried to. */
    ACTED,
    /** It is over. */
    RESOLVED;

    /** The name in events, such as {@code opened}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
