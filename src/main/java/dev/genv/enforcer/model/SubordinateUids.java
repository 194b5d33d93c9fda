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

    /** Returns the uid of the account in whose range another uid is; null if it is in none. */
    public @Nullable Long rangeOwnerOf(@Nullable Long uid) {
        var entry = uid == null ? null : byFirst.floorEntry(uid);
        if (uid == null || entry == null) {
            return null;
        }
        var range = entry.getValue();
        return uid - range.first < range.count && range.owner != uid ? Long.valueOf(range.owner) : null;
    }

    /** Returns the uid of the account in whose range a uid is, and any other uid unchanged. */
    public long ownerOf(long uid) {
        var owner = rangeOwnerOf(uid);
        return owner == null ? uid : owner;
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
