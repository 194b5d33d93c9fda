package dev.genv.enforcer.model;

import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The uids that a machine gives its users besides their own, by subuid(5). Root writes that file, so it can be relied on. */
public final class SubordinateUids {
    public static final SubordinateUids NONE = new SubordinateUids(List.of());

    private final TreeMap<Long, Range> byFirst = new TreeMap<>();

    /**
     * The uids of one user.
     *
     * @param owner the uid of the account
     */
    public record Range(long owner, long first, long count) {}

    /** Where two ranges begin with the same uid, the first one counts. */
    public SubordinateUids(List<Range> ranges) {
        ranges.forEach(range -> byFirst.putIfAbsent(range.first, range));
    }

    /** The uid of the account whose subordinate uid this is; the uid itself where it is no subordinate one. */
    public @Nullable Long ownerOf(@Nullable Long uid) {
        if (uid == null) {
            return null;
        }
        var range = byFirst.floorEntry(uid);
        return range != null && uid - range.getKey() < range.getValue().count
                ? Long.valueOf(range.getValue().owner)
                : uid;
    }
}
