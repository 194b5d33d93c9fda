package dev.genv.enforcer.recording.usage;

import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.recording.RecordedCycle;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The names of uids on the hosts, as far as recorded environments of accounts show them. */
public final class UserNames {
    private static final int MAX_NAMES = 10_000;

    private final Map<Account, String> names = new HashMap<>();

    private record Account(String host, long uid) {}

    /** Adds the names that a cycle shows. */
    public void add(RecordedCycle cycle) {
        for (var name : cycle.changed()) {
            var snapshot = cycle.snapshots().get(name);
            if (snapshot != null) {
                add(snapshot);
            }
        }
    }

    private void add(Snapshot snapshot) {
        new ProcessUsers(snapshot).names().forEach((uid, name) -> {
            if (names.size() < MAX_NAMES) {
                names.put(new Account(snapshot.host(), uid), name);
            }
        });
    }

    /** Returns the name of a uid, or else the uid; empty if the uid is unknown. */
    Optional<String> of(@Nullable String host, @Nullable Long uid) {
        if (uid == null) {
            return Optional.empty();
        }
        var name = host == null ? null : names.get(new Account(host, uid));
        return Optional.of(name == null ? Long.toString(uid) : name);
    }
}
