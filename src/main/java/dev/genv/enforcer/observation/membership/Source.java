package dev.genv.enforcer.observation.membership;

import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.MembershipSource;
import dev.genv.enforcer.observation.membership.MembershipResolver.Decision;
import dev.genv.enforcer.observation.membership.RelatedProcesses.RelatedProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One kind of facts that can decide the membership of a process which has overwritten its environ. */
interface Source {
    /** In the order in which they decide. */
    List<Source> ALL = List.of(new Ancestors(), new SessionMembers(), new CgroupMembers());

    /** Returns nothing if these facts say nothing about the process. */
    Optional<Decision> decide(RelatedProcess process, MembershipFacts evidence);

    /**
     * The nearest ancestor that an environment lists, or whose environ is intact. A process that lost its parent is adopted by another one,
     * such as the manager of a user's services (PR_SET_CHILD_SUBREAPER of prctl(2)). That one says nothing about it.
     */
    static final class Ancestors implements Source {
        @Override
        public Optional<Decision> decide(RelatedProcess process, MembershipFacts evidence) {
            var passed = new ArrayList<RelatedProcess>();
            var current = process;
            while (passed.size() <= RelatedProcesses.MOST_ANCESTORS) {
                var found = decision(current, process, passed, evidence);
                if (found.isPresent()) {
                    return found;
                }
                var next = evidence.processes().parent(current);
                if (next.isEmpty()
                        || (!passed.isEmpty() && current.named().isPresent())
                        || mayHaveAdopted(next.get(), current)) {
                    return Optional.empty();
                }
                passed.add(current);
                current = next.get();
            }
            return Optional.empty();
        }

        private static Optional<Decision> decision(
                RelatedProcess ancestor,
                RelatedProcess process,
                List<RelatedProcess> between,
                MembershipFacts evidence) {
            var listed = evidence.listing(ancestor, process);
            if (listed.isPresent() || ancestor.pid() == process.pid()) {
                return listed;
            }
            if (ancestor.isUnavailable()) {
                return Optional.of(
                        Decision.unknown("the environ of its ancestor %d cannot be read".formatted(ancestor.pid())));
            }
            return ancestor.named()
                    .filter(named ->
                            !(named instanceof Membership.Outside) || isParentFor(ancestor, process, between, evidence))
                    .flatMap(named -> evidence.accept(named, process, MembershipSource.ANCESTOR));
        }

        /** Whether an ancestor that names no environment is a true one, and no process between them may have been given one. */
        private static boolean isParentFor(
                RelatedProcess ancestor,
                RelatedProcess process,
                List<RelatedProcess> between,
                MembershipFacts evidence) {
            return ancestor.isInSessionOf(process)
                    && !ancestor.firstOfNamespace()
                    && !evidence.listings().mayHaveEnvironment(ancestor)
                    && between.stream()
                            .allMatch(passed -> passed.isInSessionOf(process)
                                    && !passed.firstOfNamespace()
                                    && !evidence.listings().mayHaveEnvironment(passed));
        }

        /** A process in the session of another one got it from its true parent. One that began a session may have been adopted afterwards. */
        private static boolean mayHaveAdopted(RelatedProcess parent, RelatedProcess child) {
            return !parent.isInSessionOf(child) && !child.leadsSession();
        }
    }

    /** The leader of its session and the members of its process group, which a process keeps when it loses its parent. */
    static final class SessionMembers implements Source {
        @Override
        public Optional<Decision> decide(RelatedProcess process, MembershipFacts evidence) {
            return evidence.processes().areComplete(process)
                    ? evidence.agreement(
                            process,
                            evidence.processes().leaderAndGroup(process),
                            MembershipSource.SESSION,
                            "its session")
                    : Optional.empty();
        }
    }

    /** The processes in its container, or in its scope or service of systemd. */
    static final class CgroupMembers implements Source {
        @Override
        public Optional<Decision> decide(RelatedProcess process, MembershipFacts evidence) {
            return evidence.processes().areComplete(process) && process.cgroup().isUnit()
                    ? evidence.agreement(
                            process, evidence.processes().unit(process), MembershipSource.CGROUP, "its cgroup")
                    : Optional.empty();
        }
    }
}
