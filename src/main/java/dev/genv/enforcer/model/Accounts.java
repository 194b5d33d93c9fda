package dev.genv.enforcer.model;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The accounts that a machine knows by itself. Users from a directory service are not among them: not to find somebody
 * says nothing about him.
 */
public final class Accounts {
    public static final Accounts NONE = new Accounts(Map.of());

    private final Map<String, Long> uids;
    private final Map<Long, Set<String>> names = new HashMap<>();

    /** The accounts with these uids, by name. */
    public Accounts(Map<String, Long> uids) {
        this.uids = Map.copyOf(uids);
        this.uids.forEach(
                (name, uid) -> names.computeIfAbsent(uid, _ -> new TreeSet<>()).add(name));
    }

    public Optional<Long> uidOf(String name) {
        return Optional.ofNullable(uids.get(name));
    }

    /** All names of a uid, for several may share one; none where it is not known. */
    public Set<String> namesOf(long uid) {
        return Set.copyOf(names.getOrDefault(uid, Set.of()));
    }
}
