package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.MembershipSource;
import java.util.Optional;

/** The processes in its container, or in its scope or service of systemd. */
final class CgroupMembers implements Source {
    @Override
    public Optional<Decision> decide(RelatedProcess process, Evidence evidence) {
        return evidence.processes().areComplete(process) && process.cgroup().isUnit()
                ? evidence.agreement(process, evidence.processes().unit(process), MembershipSource.CGROUP, "its cgroup")
                : Optional.empty();
    }
}
