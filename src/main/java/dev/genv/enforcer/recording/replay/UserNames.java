package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.policy.Violation;
import dev.genv.enforcer.recording.RecordedCycle;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Finds the user of a process, an environment or a violation. Uids have names as far as recorded processes and environments of
 * accounts show them, also earlier and later ones.
 */
public final class UserNames {
    private static final int MAX_NAMES = 10_000;

    private final Map<UserKey.OfUid, UserKey.Named> names = new HashMap<>();
    private final Map<String, SubordinateUids> subordinates = new HashMap<>();

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
        if (!snapshot.subordinateUids().equals(SubordinateUids.NONE)) {
            subordinates.put(snapshot.host(), snapshot.subordinateUids());
        }
        for (var process : snapshot.allProcesses()) {
            add(snapshot.host(), process.uid(), process.account());
        }
        for (var environment :
                snapshot.environments()) { // last, because of uids that are an account's and in a subordinate range
            add(snapshot.host(), environment.uid(), environment.ownership().account());
        }
    }

    private void add(String host, @Nullable Long uid, @Nullable String account) {
        if (uid != null && account != null && names.size() < MAX_NAMES) {
            names.put(new UserKey.OfUid(host, uid), new UserKey.Named(account));
        }
    }

    /** Returns the user in whose name an environment counts. */
    public UserKey ownerOf(String host, Environment environment) {
        if (environment.ownership().isDisputed()) {
            return UserKey.UNKNOWN;
        }
        var name = environment.username();
        return name != null && !name.isEmpty()
                ? new UserKey.Named(name)
                : environment.user().isEmpty() ? UserKey.UNKNOWN : ofUid(host, environment.uid());
    }

    /** Returns the user of a uid. A subordinate uid is its account's, unless an environment shows that it is an account too. */
    public UserKey ofUid(String host, @Nullable Long uid) {
        if (uid == null) {
            return UserKey.UNKNOWN;
        }
        var name = names.get(new UserKey.OfUid(host, uid));
        if (name != null) {
            return name;
        }
        var owner = subordinates.getOrDefault(host, SubordinateUids.NONE).ownerOf(uid);
        var account = new UserKey.OfUid(host, owner == null ? uid : owner);
        var known = names.get(account);
        return known == null ? account : known;
    }

    /**
     * Returns the user of a violation: that of the environment; without one, that of the process. A violation of `env-owner` counts
     * for the user of the process, because the recorded user of the environment has not caused it.
     */
    UserKey ofViolation(Violation violation) {
        var user = violation.user();
        if (user != null && !violation.rule().isEnforcedByUids()) {
            return new UserKey.Named(user);
        }
        var host = violation.host();
        return host == null || violation.processes().isEmpty()
                ? UserKey.UNKNOWN
                : ofUid(host, violation.processes().getFirst().uid());
    }

    /** Returns the name of a user, or else the uid; empty if neither is known. */
    public Optional<String> nameOf(UserKey user) {
        return switch (user) {
            case UserKey.Named(var name) -> Optional.of(name);
            case UserKey.OfUid uid ->
                Optional.of(names.containsKey(uid) ? names.get(uid).name() : Long.toString(uid.uid()));
            case UserKey.Unknown() -> Optional.empty();
        };
    }
}
