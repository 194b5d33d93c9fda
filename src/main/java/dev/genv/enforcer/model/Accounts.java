package dev.genv.enforcer.model;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The accounts of a machine that are known. Not all users of a directory service are, so a missing user proves nothing. */
public final class Accounts {
    public static final Accounts NONE = new Accounts(Map.of());

    private final Map<String, Long> uids;
    private final Map<Long, Set<String>> names;

    public Accounts(Map<String, Long> uids) {
        this.uids = Map.copyOf(uids);
        var byUid = new HashMap<Long, Set<String>>();
        // Nearly all uids have one name, and a fleet has thousands of these maps.
        this.uids.forEach((name, uid) -> byUid.merge(uid, Set.of(name), Accounts::both));
        names = Map.copyOf(byUid);
    }

    /** Returns these accounts and others, without those whose names are also among these. */
    public Accounts with(Map<String, Long> others) {
        if (others.isEmpty()) {
            return this;
        }
        var all = new HashMap<>(others);
        all.putAll(uids);
        return new Accounts(all);
    }

    public Optional<Long> uidOf(String name) {
        return Optional.ofNullable(uids.get(name));
    }

    /** Returns all names of a uid, because several accounts may share it; empty if the uid is unknown. */
    public Set<String> namesOf(long uid) {
        return names.getOrDefault(uid, Set.of());
    }

    private static Set<String> both(Set<String> some, Set<String> others) {
        return Stream.concat(some.stream(), others.stream()).collect(Collectors.toUnmodifiableSet());
    }
}
