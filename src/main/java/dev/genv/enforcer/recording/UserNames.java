package dev.genv.enforcer.recording;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.SafeText;
import dev.genv.enforcer.model.Snapshot;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The users of environments and processes. A user is a text: the name, else the uid, or {@link #UNKNOWN}. A uid keeps the name of the account
 * that an observation showed.
 */
final class UserNames {
    /** Nobody knows the user, or the owner of the environment is disputed. */
    static final String UNKNOWN = "";

    private static final int MAX_NAMES = 10_000;

    private final Map<HostUid, String> names = new HashMap<>();

    private record HostUid(String host, long uid) {}

    /** Remembers the names that an observation shows. */
    void add(Snapshot snapshot) {
        for (var process : snapshot.allProcesses()) {
            add(snapshot.host(), process.uid(), process.account());
        }
        for (var environment :
                snapshot.environments()) { // last, because an account can have a subordinate uid of another
            add(snapshot.host(), environment.uid(), environment.ownership().account());
        }
    }

    /** Returns the users of an observation whose names are remembered. */
    OnHost on(Snapshot snapshot) {
        return new OnHost(snapshot);
    }

    private void add(String host, @Nullable Long uid, @Nullable String account) {
        if (uid != null && account != null && names.size() < MAX_NAMES) {
            names.put(new HostUid(host, uid), SafeText.bounded(account));
        }
    }

    /** The users of an observation. */
    final class OnHost {
        private final Snapshot snapshot;
        private final Map<String, Environment> environments;
        private final Map<Integer, Environment> listing = new HashMap<>();

        private OnHost(Snapshot snapshot) {
            this.snapshot = snapshot;
            environments = snapshot.environmentsById();
            for (var environment : snapshot.environments()) {
                environment.pids().forEach(pid -> listing.putIfAbsent(pid, environment));
            }
        }

        /** Returns the user of an environment; empty if it is not active. */
        Optional<String> ofEnvironment(String eid) {
            return Optional.ofNullable(environments.get(eid)).map(this::of);
        }

        /** Returns the user in whose name an environment counts. */
        String of(Environment environment) {
            if (environment.ownership().isDisputed() || environment.user().isEmpty()) {
                return UNKNOWN;
            }
            var name = environment.username();
            return name == null || name.isEmpty() ? ofUid(environment.uid()) : SafeText.bounded(name);
        }

        /** A process in an environment is its user's, as for a quota; one that an environment lists too. Every other one is its uid's. */
        String of(GpuProcess process) {
            var environment = switch (process.membership()) {
                case Membership.InEnvironment(var eid) -> environments.get(eid);
                case Membership.Unknown _ -> listing.get(process.pid());
                case Membership.Outside() -> null;
            };
            return environment == null ? ofUid(process.uid()) : of(environment);
        }

        /** A subordinate uid is its account's, unless an environment showed that it is an account too. */
        String ofUid(@Nullable Long uid) {
            var owner = snapshot.subordinateUids().ownerOf(uid);
            if (uid == null || owner == null) {
                return UNKNOWN;
            }
            var name = names.get(new HostUid(snapshot.host(), uid));
            return name != null ? name : names.getOrDefault(new HostUid(snapshot.host(), owner), owner.toString());
        }
    }
}
