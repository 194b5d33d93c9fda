package dev.genv.enforcer.policy.holding;

import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.Fleet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Whether the recorded uids of environments are their users'. A user can write another user's name and their own uid on a machine that
 * has no account of that name.
 */
public final class ConfirmedOwners {
    private final Map<String, Set<@Nullable Long>> uidsByUser = new HashMap<>();

    public ConfirmedOwners(Fleet fleet) {
        for (var snapshot : fleet.snapshots()) {
            for (var environment : snapshot.environments()) {
                if (!environment.ownership().isDisputed()) {
                    environment
                            .user()
                            .ifPresent(user -> uidsByUser
                                    .computeIfAbsent(user, _ -> new HashSet<>())
                                    .add(environment.uid()));
                }
            }
        }
    }

    /**
     * Whether an account of the machine confirms the uid, or the environment counts by its uid, or all undisputed environments of the
     * user on all machines record this uid.
     */
    boolean isConfirmed(Environment environment) {
        var name = environment.username();
        return environment.ownership().isAccount()
                || name == null
                || name.isEmpty()
                || uidsByUser.getOrDefault(name, Set.of()).size() == 1;
    }
}
