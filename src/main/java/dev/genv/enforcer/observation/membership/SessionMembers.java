package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.MembershipSource;
import java.util.Optional;

/** The leader of its session and the members of its process group, which a process keeps when it loses its parent. */
final class SessionMembers implements Source {
    @Override
    public Optional<Decision> decide(RelatedProcess process, Evidence evidence) {
        return evidence.processes().areComplete(process)
                ? evidence.agreement(
                        process, evidence.processes().leaderAndGroup(process), MembershipSource.SESSION, "its session")
                : Optional.empty();
    }
}
