package dev.genv.enforcer.model;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The attachments that appeared in a user's name after the first complete observation of a host. The age of an attachment that the
 * first observation found is unknown, so it is not included.
 *
 * @param trustsRecordedTimes whether the recorded times, which every user can write, decide the age of those
 */
public record Appearances(Map<Key, Appearance> all, boolean trustsRecordedTimes) {
    /** The appearances in a fleet without a history. */
    public static final Appearances NONE = new Appearances(Map.of(), true);

    /** The attachment of a device to an environment on a host. */
    public record Key(String host, String eid, int device) {}

    /**
     * When an attachment appeared.
     *
     * @param order a number that is larger for a later appearance
     * @param recent whether the attachment still counts as new
     */
    public record Appearance(long order, boolean recent) {}

    public Appearances {
        all = Map.copyOf(all);
    }

    /** Returns when an attachment appeared; null if the first observation found it. */
    public @Nullable Appearance of(String host, String eid, int device) {
        return all.get(new Key(host, eid, device));
    }
}
