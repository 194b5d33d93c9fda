package dev.genv.enforcer.model;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The accounts that a machine knows by itself. Users from a directory service are not among them: not to find somebody
 * says nothing about him.
 */
public final class Accounts {
    public static final Accounts NONE = new Accounts(Map.of());

    private final Map<String, Long> uids;
    private final Map<Long, Set<String>> names;

    /** The accounts with these uids, by name. */
    public Accounts(Map<String, Long> uids) {
        this.uids = Map.copyOf(uids);
        var byUid = new HashMap<Long, Set<String>>();
        // Nearly all have one name, and of a fleet there are thousands of such maps.
        this.uids.forEach((name, uid) -> byUid.merge(uid, Set.of(name), Accounts::both));
        names = Map.copyOf(byUid);
    }

    public Optional<Long> uidOf(String name) {
        return Optional.ofNullable(uids.get(name));
    }

    /** All names of a uid, for several may share one; none where it is not known. */
    public Set<String> namesOf(long uid) {
        return names.getOrDefault(uid, Set.of());
    }

    private static Set<String> both(Set<String> some, Set<String> others) {
        return Stream.concat(some.stream(), others.stream()).collect(Collectors.toUnmodifiableSet());
    }
}
