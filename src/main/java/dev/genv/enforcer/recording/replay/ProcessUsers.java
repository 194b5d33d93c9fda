package dev.genv.enforcer.recording.replay;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The users of the processes on a machine. A process in an environment is the environment's user's, as for a quota; one that an
 * environment lists too. Every other process is its uid's.
 */
public final class ProcessUsers {
    private final String host;
    private final UserNames names;
    private final Map<String, Environment> environments;
    private final Map<Integer, Environment> listing = new HashMap<>();

    public ProcessUsers(Snapshot snapshot, UserNames names) {
        host = snapshot.host();
        this.names = names;
        environments = snapshot.environmentsById();
        for (var environment : snapshot.environments()) {
            environment.pids().forEach(pid -> listing.putIfAbsent(pid, environment));
        }
    }

    public UserKey of(GpuProcess process) {
        var environment = environmentOf(process);
        return environment == null ? names.ofUid(host, process.uid()) : names.ownerOf(host, environment);
    }

    private @Nullable Environment environmentOf(GpuProcess process) {
        return switch (process.membership()) {
            case Membership.InEnvironment(var eid) -> environments.get(eid);
            case Membership.Unknown _ -> listing.get(process.pid());
            case Membership.Outside() -> null;
        };
    }
}
