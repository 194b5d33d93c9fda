package dev.genv.enforcer.model;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The attachments that the service saw appear in their user's name. One that it found at its first complete observation of a
 * host is not among them: its age is not known.
 *
 * @param trustsRecordedTimes whether the times in the state, which every user can write, tell the age of those
 */
public record Appearances(Map<Key, Appearance> all, boolean trustsRecordedTimes) {
    /** Of a fleet without any history. */
    public static final Appearances NONE = new Appearances(Map.of(), true);

    /** An environment's hold on a device of a host. */
    public record Key(String host, String eid, int device) {}

    /**
     * When one appeared.
     *
     * @param order larger for one that appeared later
     * @param recent whether that is so short a while ago that the attachment is new
     */
    public record Appearance(long order, boolean recent) {}

    public Appearances {
        all = Map.copyOf(all);
    }

    /** Null if the first observation found it. */
    public @Nullable Appearance of(String host, String eid, int device) {
        return all.get(new Key(host, eid, device));
    }
}
