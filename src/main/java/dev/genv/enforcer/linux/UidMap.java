package dev.genv.enforcer.linux;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The content of {@code /proc/PID/uid_map}, see user_namespaces(7), as a reader in the first user namespace sees it. Without privileges a
 * user can map only the own uid, and with newuidmap(1) the ranges of subuid(5) too.
 */
public record UidMap(List<Extent> extents) {
    /** More than the 340 lines that the kernel permits. */
    public static final int LARGEST = 16 << 10;

    private static final Pattern LINE = Pattern.compile(" *([0-9]{1,10}) +([0-9]{1,10}) +([0-9]{1,10})");

    /** Uids in the namespace, those outside of it, and their number. */
    public record Extent(long inside, long outside, long count) {
        boolean contains(long uid) {
            return uid >= outside && uid - outside < count;
        }
    }

    /** Empty if the text has an unknown form. A namespace that maps no uid yet has no lines. */
    public static Optional<UidMap> tryParse(String text) {
        var extents = new ArrayList<Extent>();
        for (var line : text.lines().toList()) {
            var fields = LINE.matcher(line);
            if (!fields.matches()) {
                return Optional.empty();
            }
            extents.add(new Extent(
                    Long.parseLong(fields.group(1)), Long.parseLong(fields.group(2)), Long.parseLong(fields.group(3))));
        }
        return Optional.of(new UidMap(extents));
    }

    /**
     * Whether the owner of the subordinate uids around this one has it written by newuidmap(1): it maps the owner too, or several of them. An
     * extent with the uid and its owner is of root, who can map the uids of several users as they are.
     */
    public boolean provesOwner(long owner, long uid) {
        return extents.stream().noneMatch(extent -> extent.contains(owner) && extent.contains(uid))
                && extents.stream()
                        .anyMatch(extent -> extent.contains(owner) || (extent.contains(uid) && extent.count > 1));
    }

    /** Whether a uid is one of several that newuidmap(1) mapped, with a range that the service need not know. Only root maps root's uid. */
    public boolean isOfUser(long uid) {
        return extents.stream().noneMatch(extent -> extent.contains(0))
                && extents.stream().anyMatch(extent -> extent.contains(uid) && extent.count > 1);
    }
}
