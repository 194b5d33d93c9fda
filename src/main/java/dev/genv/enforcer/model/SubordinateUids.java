package dev.genv.enforcer.model;

import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The subordinate uids that a machine gives its users (subuid(5)). Only root can write that file. */
public final class SubordinateUids {
    public static final SubordinateUids NONE = new SubordinateUids(List.of());

    private final TreeMap<Long, Range> byFirst = new TreeMap<>();

    /** A range of subordinate uids; the owner is the uid of the account. */
    public record Range(long owner, long first, long count) {}

    /** If two ranges begin with the same uid, the first one counts. */
    public SubordinateUids(List<Range> ranges) {
        ranges.forEach(range -> byFirst.putIfAbsent(range.first, range));
    }

    /** Returns the ranges, ascending. */
    public List<Range> ranges() {
        return List.copyOf(byFirst.values());
    }

    /** Returns the uid of the account to which a subordinate uid belongs; another uid is returned unchanged. */
    public @Nullable Long ownerOf(@Nullable Long uid) {
        if (uid == null) {
            return null;
        }
        var range = byFirst.floorEntry(uid);
        return range != null && uid - range.getKey() < range.getValue().count
                ? Long.valueOf(range.getValue().owner)
                : uid;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SubordinateUids uids && byFirst.equals(uids.byFirst);
    }

    @Override
    public int hashCode() {
        return byFirst.hashCode();
    }
}
