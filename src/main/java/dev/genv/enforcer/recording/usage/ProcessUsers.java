package dev.genv.enforcer.recording.usage;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The users of the processes on a machine. A process in an environment is the environment's user's, as for a quota; one that an
 * environment lists too. Every other process is its uid's.
 */
public final class ProcessUsers {
    private final Map<String, Environment> environments;
    private final Map<Integer, Environment> listing = new HashMap<>();
    private final Map<Long, String> names = new HashMap<>();

    public ProcessUsers(Snapshot snapshot) {
        environments = snapshot.environmentsById();
        for (var environment : snapshot.environments()) {
            environment.pids().forEach(pid -> listing.putIfAbsent(pid, environment));
            var uid = environment.uid();
            var name = environment.username();
            if (environment.ownership().isAccount() && uid != null && name != null) {
                names.putIfAbsent(uid, name);
            }
        }
    }

    /** The names of uids, from the environments of accounts of the machine. */
    Map<Long, String> names() {
        return Map.copyOf(names);
    }

    /** Returns the user in whose name an environment counts; empty if it has none, or its owner is disputed. */
    public static Optional<String> of(Environment environment) {
        return environment.ownership().isDisputed() ? Optional.empty() : environment.user();
    }

    /** Returns the user of a process: a name, or else the uid. Empty if neither is known. */
    public Optional<String> of(GpuProcess process) {
        var environment = environmentOf(process);
        if (environment != null) {
            return of(environment);
        }
        var uid = process.uid();
        return uid == null ? Optional.empty() : Optional.of(names.getOrDefault(uid, Long.toString(uid)));
    }

    private @Nullable Environment environmentOf(GpuProcess process) {
        return switch (process.membership()) {
            case Membership.InEnvironment(var eid) -> environments.get(eid);
            case Membership.Unknown _ -> listing.get(process.pid());
            case Membership.Outside() -> null;
        };
    }
}
