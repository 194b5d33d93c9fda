package dev.genv.enforcer.model;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The accounts that a machine knows by itself. Users from a directory service are not among them: not to find somebody
 * says nothing about him.
 *
 * @param uids by name
 */
public record Accounts(Map<String, Long> uids) {
    public static final Accounts NONE = new Accounts(Map.of());

    public Accounts {
        uids = Map.copyOf(uids);
    }

    public Optional<Long> uidOf(String name) {
        return Optional.ofNullable(uids.get(name));
    }

    /** All names of a uid, for several may share one; none where it is not known. */
    public Set<String> namesOf(long uid) {
        var names = new TreeSet<String>();
        new HashMap<>(uids).forEach((name, own) -> {
            if (own == uid) {
                names.add(name);
            }
        });
        return names;
    }
}
